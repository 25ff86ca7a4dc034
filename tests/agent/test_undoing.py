"""Undoing a part of what an agent did, and what is said of each file."""

from pathlib import Path

import pytest

from kernel.agent.context import ToolContext
from kernel.agent.danger import EVERYTHING
from kernel.agent.journal import Journal
from kernel.agent.root import Root
from kernel.agent.saved_sessions import SavedSessions
from kernel.agent.toolbox import agent_tools
from kernel.agent.undoing import latest_with_changes, undo_session
from kernel.domain.undone import State, Undone
from kernel.errors import KernelError


class Work:
    """A session whose tools have been used."""

    def __init__(self, user_data: Path, repo: Path) -> None:
        self.user_data = user_data
        self.root = Root.at(repo)
        self.sessions = SavedSessions(user_data)
        self.session = self.sessions.new(self.root.folder)
        self.sessions.save(self.session)
        self.journal = Journal.under(user_data, self.session.id, self.root)
        self._context = ToolContext(self.root, self.journal, permissions=EVERYTHING)

    def use(self, name: str, **given: object) -> None:
        assert agent_tools().call(name, given, self._context).success

    def undo(self, first: int = 0, end: int = 1000) -> list[Undone]:
        return undo_session(self.user_data, self.session.id, self.root, first, end)


@pytest.fixture
def work(user_data: Path, repo: Path) -> Work:
    return Work(user_data, repo)


def test_only_the_changes_that_are_meant_are_undone(work: Work, repo: Path) -> None:
    work.use("create_file", path="first", content="1")
    second = work.journal.next_number
    work.use("create_file", path="second", content="2")
    third = work.journal.next_number
    work.use("create_file", path="third", content="3")
    assert work.undo(second, third) == [Undone("second", State.REMOVED)]
    assert sorted(path.name for path in repo.iterdir()) == ["first", "third"]


def test_several_changes_of_one_file_are_one_file(work: Work, repo: Path) -> None:
    (repo / "a").write_text("before")
    for word in ("one", "two"):
        work.use("edit_file", path="a", mode="append", content=word)
    work.use("delete_file", path="a")
    assert work.undo() == [Undone("a", State.RESTORED)]
    assert (repo / "a").read_text() == "before"


def test_a_later_change_that_stays_keeps_an_earlier_one_from_being_undone(work: Work) -> None:
    work.use("create_file", path="a", content="1")
    end = work.journal.next_number
    work.use("edit_file", path="a", mode="append", content="2")
    (kept,) = work.undo(0, end)
    assert kept.state is State.KEPT
    assert "a has been changed" in kept.reason


def test_a_folder_in_which_somebody_has_put_something_stays(work: Work, repo: Path) -> None:
    work.use("mkdir", path="made")
    (repo / "made" / "mine").write_text("mine")
    (kept,) = work.undo()
    assert (kept.path, kept.state) == ("made", State.KEPT)
    assert (repo / "made" / "mine").exists()


def test_the_session_is_told_and_cannot_be_undone_while_it_is_at_work(work: Work) -> None:
    work.use("create_file", path="a", content="1")
    with work.sessions.held(work.session), pytest.raises(KernelError, match="at work"):
        work.undo()
    work.undo()
    (told,) = work.sessions.load(work.session.id).transcript.messages
    assert "undone" in told.content
    assert "a" in told.content


def test_the_latest_session_that_can_be_undone_is_found(work: Work, tmp_path: Path) -> None:
    assert latest_with_changes(work.user_data, work.root) is None
    work.use("create_file", path="a", content="1")
    assert latest_with_changes(work.user_data, work.root) == work.session.id
    assert latest_with_changes(work.user_data, Root.at(tmp_path)) is None
