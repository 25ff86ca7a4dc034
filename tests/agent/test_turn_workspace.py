from pathlib import Path

import pytest
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ALLOW_ALL_POLICY
from codekernel.agent.tools.toolsets import build_agent_tools
from codekernel.agent.turn_workspace import AgentWorkspace, find_latest_with_changes, undo_session
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.turn import UndoResult, UndoState
from codekernel.errors import KernelError, WrongParam


def test_a_folder_that_was_swapped_for_a_link_is_refused_if_that_leads_out(tmp_path: Path) -> None:
    allowed, outside, store = tmp_path / "allowed", tmp_path / "outside", tmp_path / "userData"
    folder = allowed / "project" / "inner"
    for each in (folder, outside / "inner"):
        each.mkdir(parents=True)
    bound = AgentWorkspace(store, folder, AgentSessionStore(store), str(allowed))
    assert bound.root.folder == folder.resolve()
    (allowed / "project").rename(allowed / "aside")
    (allowed / "project").symlink_to(outside)
    free = AgentWorkspace(store, folder, AgentSessionStore(store))
    assert free.root.folder == (outside / "inner").resolve()
    with pytest.raises(WrongParam, match="outside"):
        AgentWorkspace(store, folder, AgentSessionStore(store), str(allowed))


class Work:
    """A session whose tools have been used."""

    def __init__(self, user_data: Path, repo: Path) -> None:
        self.user_data = user_data
        self.root = WorkspaceRoot.from_path(repo)
        self.sessions = AgentSessionStore(user_data)
        self.session = self.sessions.create(self.root.folder)
        self.sessions.save(self.session)
        self.journal = ChangeJournal.from_user_data(user_data, self.session.id, self.root)
        self._context = ToolContext(self.root, self.journal, permissions=ALLOW_ALL_POLICY)

    def use(self, name: str, **given: object) -> None:
        assert build_agent_tools().call(name, given, self._context).success

    def undo(self, first: int = 0, end: int = 1000) -> list[UndoResult]:
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
    assert work.undo(second, third) == [UndoResult("second", UndoState.REMOVED)]
    assert sorted(path.name for path in repo.iterdir()) == ["first", "third"]


def test_several_changes_of_one_file_are_one_file(work: Work, repo: Path) -> None:
    (repo / "a").write_text("before")
    for word in ("one", "two"):
        work.use("edit_file", path="a", mode="append", content=word)
    work.use("delete_file", path="a")
    assert work.undo() == [UndoResult("a", UndoState.RESTORED)]
    assert (repo / "a").read_text() == "before"


def test_a_later_change_that_stays_keeps_an_earlier_one_from_being_undone(work: Work) -> None:
    work.use("create_file", path="a", content="1")
    end = work.journal.next_number
    work.use("edit_file", path="a", mode="append", content="2")
    (kept,) = work.undo(0, end)
    assert kept.state is UndoState.KEPT
    assert "a has been changed" in kept.reason


def test_a_folder_that_has_other_files_in_it_stays(work: Work, repo: Path) -> None:
    work.use("mkdir", path="made")
    (repo / "made" / "mine").write_text("mine")
    (kept,) = work.undo()
    assert (kept.path, kept.state) == ("made", UndoState.KEPT)
    assert (repo / "made" / "mine").exists()


def test_the_session_gets_a_note_and_cannot_be_undone_while_it_runs(work: Work) -> None:
    work.use("create_file", path="a", content="1")
    with work.sessions.lock(work.session), pytest.raises(KernelError, match="at work"):
        work.undo()
    work.undo()
    (note,) = work.sessions.load(work.session.id).transcript.messages
    assert "undone" in note.content
    assert "a" in note.content


def test_the_latest_session_that_can_be_undone_is_found(work: Work, tmp_path: Path) -> None:
    assert find_latest_with_changes(work.user_data, work.root) is None
    work.use("create_file", path="a", content="1")
    assert find_latest_with_changes(work.user_data, work.root) == work.session.id
    assert find_latest_with_changes(work.user_data, WorkspaceRoot.from_path(tmp_path)) is None
