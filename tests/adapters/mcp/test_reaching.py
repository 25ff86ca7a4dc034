import pytest
from codekernel.adapters.indexed_repository import describe_index_gaps
from codekernel.domain.index import RepositoryIndexStatus


@pytest.mark.parametrize("state", ["starting", "recovering", "indexing"])
def test_an_index_is_being_made_only_while_there_was_none(state: str) -> None:
    status = RepositoryIndexStatus(state, 3, 3, 1, {})
    assert "is being made" in describe_index_gaps(status, is_first=True)
    assert "brought up to date" in describe_index_gaps(status, is_first=False)
    assert "being made" not in describe_index_gaps(status, is_first=False)


@pytest.mark.parametrize("state", ["idle", "embedding", "paused", "read-only"])
def test_nothing_is_said_to_be_made_that_is_not(state: str) -> None:
    assert "being made" not in describe_index_gaps(RepositoryIndexStatus(state, 3, 3, 0, {}))
