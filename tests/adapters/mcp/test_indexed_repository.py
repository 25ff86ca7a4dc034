"""While an index is being built: answers from what is indexed, and a remark that says so."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from codekernel.adapters.indexed_repository import (
    IndexedRepository,
    OpenedIndex,
    describe_index_gaps,
)
from codekernel.adapters.mcp.tools import McpTools
from codekernel.agent.tool import ToolContext
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import RepositoryIndexStatus
from codekernel.errors import StorageError
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool

Progress = list[tuple[float, float | None, str]]


@contextmanager
def toolbox_of(repository: IndexedRepository, journal: Path) -> Iterator[McpTools]:
    context = ToolContext(repository.root, ChangeJournal(journal, repository.root))
    yield McpTools(repository, _refuse_turn, context)
    repository.close()


def _refuse_turn(*_: object) -> NoReturn:
    raise AssertionError("no turn is expected")


def call(toolbox: McpTools, name: str, progress: Progress, /, **given: object) -> tuple[bool, str]:
    outcome = toolbox.call(name, given, CancelToken(), lambda *step: progress.append(step))
    return outcome.success, outcome.text


def test_a_search_answers_after_a_moment_with_what_there_is_and_later_with_all(
    project: Path, tmp_path: Path
) -> None:
    index = RepositoryIndex(project, tmp_path / "index", ModelPool)  # nothing runs yet
    repository = IndexedRepository(
        project, lambda: OpenedIndex(index), first_index_timeout_seconds=0.3
    )
    progress: Progress = []
    with toolbox_of(repository, tmp_path / "journal") as toolbox:
        good, text = call(toolbox, "search", progress, query="add_route")
        assert good
        assert text == (
            "Nothing in the index matches. Try other words, or grep for an exact text.\n\n"
            "[The index is being made: 0 files so far. Ask again for the rest.]"
        )
        assert [about for _, _, about in progress][:1] == [
            "The index is being made: 0 files so far. Ask again for the rest."
        ]
        patient = IndexedRepository(
            project, lambda: OpenedIndex(index), first_index_timeout_seconds=60
        )
        index.start(IndexPlan())  # words alone
        with toolbox_of(patient, tmp_path / "journal") as other:
            good, text = call(other, "search", progress, query="add_route", limit=1)
            assert text.startswith(("routing.py:1-2", "main.py:"))
            assert "being made" not in text
            good, text = call(other, "call_chain", progress, method="add_route")
            assert good
            assert "begin (function, main.py:4-5)" in text


def test_waiting_ends_when_the_call_is_cancelled(project: Path, tmp_path: Path) -> None:
    index = RepositoryIndex(project, tmp_path / "index", ModelPool)
    repository = IndexedRepository(
        project, lambda: OpenedIndex(index), first_index_timeout_seconds=600
    )
    cancel, waiting = CancelToken(), threading.Event()
    with toolbox_of(repository, tmp_path / "journal"):
        work = threading.Thread(
            target=repository.wait_for_lexical_index, args=(cancel, lambda *_: waiting.set())
        )
        work.start()
        assert waiting.wait(60)
        cancel.cancel()
        work.join(60)
        assert not work.is_alive()


def test_an_index_that_cannot_be_opened_is_reported_by_every_tool_that_needs_it(
    project: Path, tmp_path: Path
) -> None:
    def broken() -> OpenedIndex:
        raise StorageError("the disk is full")

    repository = IndexedRepository(project, broken)
    with toolbox_of(repository, tmp_path / "journal") as toolbox:
        for name, given in [
            ("search", {"query": "x"}),
            ("symbols", {"name": "x"}),
            ("calls", {"symbol": "x"}),
            ("files", {}),
            ("call_chain", {"method": "x"}),
            ("index_status", {}),
        ]:
            assert call(toolbox, name, [], **given) == (False, "the disk is full")
        good, text = call(toolbox, "read", [], path="routing.py", start_line=1, end_line=1)
        assert (good, text) == (True, "1\tdef add_route(path, handler):\n[lines 1-1 of 2]")
        with pytest.raises(StorageError):
            repository.get_status()


@pytest.mark.parametrize("state", ["starting", "recovering", "indexing"])
def test_an_index_is_being_made_only_while_there_was_none(state: str) -> None:
    status = RepositoryIndexStatus(state, 3, 3, 1, {})
    assert "is being made" in describe_index_gaps(status, is_first=True)
    assert "brought up to date" in describe_index_gaps(status, is_first=False)
    assert "being made" not in describe_index_gaps(status, is_first=False)


@pytest.mark.parametrize("state", ["idle", "embedding", "paused", "read-only"])
def test_an_existing_index_is_not_reported_as_being_made(state: str) -> None:
    assert "being made" not in describe_index_gaps(RepositoryIndexStatus(state, 3, 3, 0, {}))
