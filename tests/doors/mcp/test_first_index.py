"""While an index is being made: answers from the words there are, and a remark that says so."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernel.agent.context import ToolContext
from kernel.agent.journal import Journal
from kernel.domain.cancel import CancelToken
from kernel.doors.mcp.repository import Opened, Repository
from kernel.doors.mcp.tools import Toolbox
from kernel.errors import StorageError
from kernel.indexing.plan import IndexPlan
from kernel.indexing.repository_index import RepositoryIndex
from kernel.inference.shelf import Shelf

Heard = list[tuple[float, float | None, str]]


@contextmanager
def toolbox_of(repository: Repository, journal: Path) -> Iterator[Toolbox]:
    context = ToolContext(repository.root, Journal(journal, repository.root))
    yield Toolbox(repository, _nobody, context)
    repository.close()


def _nobody(*_: object) -> "object":
    raise AssertionError("nobody is asked")


def call(toolbox: Toolbox, name: str, heard: Heard, /, **given: object) -> tuple[bool, str]:
    outcome = toolbox.call(name, given, CancelToken(), lambda *told: heard.append(told))
    return outcome.success, outcome.text


def test_a_search_answers_after_a_moment_with_what_there_is_and_later_with_all(
    project: Path, tmp_path: Path
) -> None:
    index = RepositoryIndex(project, tmp_path / "index", Shelf)  # nothing runs yet
    repository = Repository(project, lambda: (index, None), first_words_seconds=0.3)
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
        patient = Repository(project, lambda: (index, None), first_words_seconds=60)
        index.start(IndexPlan())  # words alone
        with toolbox_of(patient, tmp_path / "journal") as other:
            good, text = call(other, "search", heard, query="add_route", limit=1)
            assert text.startswith(("routing.py:1-2", "main.py:"))
            assert "being made" not in text
            good, text = call(other, "call_chain", heard, method="add_route")
            assert good
            assert "begin (function, main.py:4-5)" in text


def test_waiting_ends_when_nobody_wants_the_answer_any_more(project: Path, tmp_path: Path) -> None:
    index = RepositoryIndex(project, tmp_path / "index", Shelf)
    repository = Repository(project, lambda: (index, None), first_words_seconds=600)
    cancel, waiting = CancelToken(), threading.Event()
    with toolbox_of(repository, tmp_path / "journal"):
        work = threading.Thread(
            target=repository.wait_for_words, args=(cancel, lambda *_: waiting.set())
        )
        work.start()
        assert waiting.wait(30)
        cancel.cancel()
        work.join(30)
        assert not work.is_alive()


def test_an_index_that_cannot_be_opened_is_told_by_every_tool_that_needs_it(
    project: Path, tmp_path: Path
) -> None:
    def broken() -> Opened:
        raise StorageError("the disk is full")

    repository = Repository(project, broken)
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
            repository.status()
