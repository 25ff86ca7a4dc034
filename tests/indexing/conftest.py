"""The fixture that opens a repository's index."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.indexing.index_plan import IndexPlan, IndexTimings
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool
from indexing.followed import Followed, Open, static_plan


@pytest.fixture
def timings() -> IndexTimings:
    """The waits of the index; a test module that cannot wait so long has its own."""
    return IndexTimings()


@pytest.fixture
def open_index(tmp_path: Path, timings: IndexTimings) -> Iterator[Open]:
    """Opens the index of ``tmp_path/repo``; whatever is still open is closed at the end."""
    models = ModelPool()
    opened: list[Followed] = []
    root, folder = tmp_path / "repo", tmp_path / "index"
    root.mkdir()

    def open_it(plan: IndexPlan | None = None, *, start: bool = True) -> Followed:
        index = RepositoryIndex(root, folder, lambda: models, timings=timings)
        followed = Followed(root, folder, index)
        opened.append(followed)
        index.subscribe(followed.hear, followed.crashes.append)
        if start:
            index.start(plan or static_plan(1500))
        return followed

    yield open_it
    for followed in opened:
        followed.close()
        assert followed.crashes == []
