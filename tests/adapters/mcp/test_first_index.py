"""While an index is being made: answers from the words there are, and a remark that says so."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from codekernel.adapters.indexed_repository import IndexedRepository, OpenedIndex
from codekernel.adapters.mcp.tools import McpTools
from codekernel.agent.tool import ToolContext
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import StorageError
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool

Heard = list[tuple[float, float | None, str]]


@contextmanager
def toolbox_of(repository: IndexedRepository, journal: Path) -> Iterator[McpTools]:
    context = ToolContext(repository.root, ChangeJournal(journal, repository.root))
    yield McpTools(repository, _nobody, context)
    repository.close()


def _nobody(*_: object) -> "object":
    raise AssertionError("nobody is asked")


def call(toolbox: McpTools, name: str, heard: Heard, /, **given: object) -> tuple[bool, str]:
    outcome = toolbox.call(name, given, CancelToken(), lambda *told: heard.append(told))
    return outcome.success, outcome.text


def test_a_search_answers_after_a_moment_with_what_there_is_and_later_with_all(
    project: Path, tmp_path: Path
) -> None:
    index = RepositoryIndex(project, tmp_path / "index", ModelPool)  # nothing runs yet
    repository = IndexedRepository(project, lambda: (index, None), first_index_timeout_seconds=0.3)
    heard: Heard = []
    with toolbox_of(repository, tmp_path / "journal") as toolbox:
        good, text = call(toolbox, "search", heard, query="add_route")
        assert good
        assert text == (
            "No matches found\n\n[The index is being made: 0 files so far. Ask again for the rest.]"
        )
        assert [about for _, _, about in heard][:1] == [
            "The index is being made: 0 files so far. Ask again for the rest."
        ]
        patient = IndexedRepository(project, lambda: (index, None), first_index_timeout_seconds=60)
        index.start(IndexPlan())  # words alone
        with toolbox_of(patient, tmp_path / "journal") as other:
            good, text = call(other, "search", heard, query="add_route", limit=1)
            assert text.startswith(("routing.py:1-2", "main.py:"))
            assert "being made" not in text
            good, text = call(other, "call_chain", heard, method="add_route")
            assert good
            assert "begin (function, main.py:4-5)" in text


def test_waiting_ends_when_nobody_wants_the_answer_any_more(project: Path, tmp_path: Path) -> None:
    index = RepositoryIndex(project, tmp_path / "index", ModelPool)
    repository = IndexedRepository(project, lambda: (index, None), first_index_timeout_seconds=600)
    cancel, waiting = CancelToken(), threading.Event()
    with toolbox_of(repository, tmp_path / "journal"):
        work = threading.Thread(
            target=repository.wait_for_lexical_index, args=(cancel, lambda *_: waiting.set())
        )
        work.start()
        assert waiting.wait(30)
        cancel.cancel()
        work.join(30)
        assert not work.is_alive()


def test_an_index_that_cannot_be_opened_is_told_by_every_tool_that_needs_it(
    project: Path, tmp_path: Path
) -> None:
    def broken() -> OpenedIndex:
        raise StorageError("the disk is full")

    repository = IndexedRepository(project, broken)
    with toolbox_of(repository, tmp_path / "journal") as toolbox:
        for name, given in [
            ("search", {"query": "x"}),
            ("symbols", {"name": "x"}),
            ("call_chain", {"method": "x"}),
            ("index_status", {}),
        ]:
            assert call(toolbox, name, [], **given) == (False, "the disk is full")
        good, text = call(toolbox, "read", [], path="routing.py", start_line=1, end_line=1)
        assert (good, text) == (True, "def add_route(path, handler):\n")
        with pytest.raises(StorageError):
            repository.get_status()
