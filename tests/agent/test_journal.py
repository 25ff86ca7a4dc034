import os
import threading
from pathlib import Path

import pytest
from agent.calling import Call
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.errors import StorageError
from support.undoing import undo_all, undo_last

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes and links")


def contents(repo: Path) -> dict[str, bytes | str | None]:
    """Every file, link and folder."""
    return {path.relative_to(repo).as_posix(): content(path) for path in repo.rglob("*")}


def content(path: Path) -> bytes | str | None:
    if path.is_symlink():
        return str(path.readlink())
    return path.read_bytes() if path.is_file() else None


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "a.py").write_bytes(b"one\r\n")
    (folder / "src" / "deep" / "b.bin").write_bytes(bytes(range(256)))
    if os.name != "nt":
        (folder / "src" / "link").symlink_to("a.py")
    return folder


def change_much(call: Call) -> None:
    assert call("edit_file", path="src/a.py", mode="append", content="two\n").success
    assert call("edit_file", path="src/a.py", mode="overwrite", content="three\n").success
    assert call("create_file", path="new/er/c.py", content="c").success
    assert call("mkdir", path="x/y/z").success
    assert call("delete_file", path="src/deep/b.bin").success
    assert call("delete_path", path="src", recursive=True).success
    assert call("create_file", path="src", content="a file now").success


def test_everything_can_be_undone_newest_first(
    repo: Path, context: ToolContext, call: Call
) -> None:
    before = contents(repo)
    change_much(call)
    assert contents(repo) != before
    undone = undo_all(context.journal)
    assert [change.kind for change in undone] == [
        "created", "deleted", "deleted", "folders", "created", "changed", "changed"
    ]  # fmt: skip
    assert contents(repo) == before
    assert undo_last(context.journal) is None


def test_a_journal_outlives_its_process(
    repo: Path, context: ToolContext, call: Call, tmp_path: Path
) -> None:
    before = contents(repo)
    change_much(call)
    found = ChangeJournal(tmp_path / "journal", context.root)
    assert found.changes == context.journal.changes
    last = undo_last(found)
    assert last is not None
    assert (last.tool, last.path) == ("create_file", "src")
    undo_all(ChangeJournal(tmp_path / "journal", context.root))
    assert contents(repo) == before
    assert ChangeJournal(tmp_path / "journal", context.root).changes == []


def test_work_of_others_is_never_undone(repo: Path, context: ToolContext, call: Call) -> None:
    call("edit_file", path="src/a.py", mode="append", content="two\n")
    (repo / "src" / "a.py").write_bytes(b"mine")
    with pytest.raises(ToolError, match=r"src/a\.py has been changed by others"):
        undo_last(context.journal)
    assert (repo / "src" / "a.py").read_bytes() == b"mine"
    assert len(context.journal.changes) == 1
    (repo / "src" / "a.py").unlink()
    with pytest.raises(ToolError):
        undo_last(context.journal)


def test_a_deleted_file_does_not_come_back_over_a_new_one(
    repo: Path, context: ToolContext, call: Call
) -> None:
    call("delete_file", path="src/a.py")
    (repo / "src" / "a.py").write_bytes(b"mine")
    with pytest.raises(ToolError):
        undo_last(context.journal)
    assert (repo / "src" / "a.py").read_bytes() == b"mine"


def test_a_change_that_a_crash_cut_off_is_undone_as_nothing(
    repo: Path, context: ToolContext, tmp_path: Path
) -> None:
    path = context.root.folder / "src" / "a.py"
    noted = context.journal.record_write("edit_file", path, b"one\r\n", b"never written")
    noted.__enter__()  # and the process is gone
    with (tmp_path / "journal" / "journal.jsonl").open("ab") as file:
        file.write(b'{"number": 2, "tool": "edi')
    found = ChangeJournal(tmp_path / "journal", context.root)
    assert len(found.changes) == 1
    undo_all(found)
    assert path.read_bytes() == b"one\r\n"
    with found.record_folders("mkdir", (context.root.folder / "made",)):
        (context.root.folder / "made").mkdir()
    assert len(ChangeJournal(tmp_path / "journal", context.root).changes) == 1


@pytest.mark.parametrize("size", [10, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_content_of_any_size_comes_back_byte_for_byte_in_another_process(
    repo: Path, context: ToolContext, call: Call, tmp_path: Path, size: int
) -> None:
    path = repo / "src" / "a.py"
    before = "ÿ\r\n".encode() * size
    path.write_bytes(before)
    for text in ("one", "two"):
        assert call("edit_file", path="src/a.py", mode="overwrite", content=text).success
    undo_all(ChangeJournal(tmp_path / "journal", context.root))
    assert path.read_bytes() == before


def test_no_number_is_used_twice_so_that_nothing_kept_is_written_over(
    repo: Path, context: ToolContext, call: Call, tmp_path: Path
) -> None:
    call("mkdir", path="one")
    undo_all(context.journal)
    found = ChangeJournal(tmp_path / "journal", context.root)
    with found.record_folders("mkdir", (context.root.folder / "two",)):
        pass
    assert [change.number for change in found.changes] == [2]


def test_a_content_that_is_damaged_is_reported_and_the_file_stays(
    repo: Path, context: ToolContext, call: Call, tmp_path: Path
) -> None:
    call("edit_file", path="src/a.py", mode="append", content="two\n")
    file = tmp_path / "journal" / "journal.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"before":"', b'"before":"?'))
    with pytest.raises(StorageError, match=r"journal\.jsonl is broken"):
        undo_last(ChangeJournal(tmp_path / "journal", context.root))
    assert (repo / "src" / "a.py").read_bytes() == b"one\r\ntwo\r\n"


def test_what_cannot_be_noted_is_not_done(
    repo: Path, context: ToolContext, call: Call, tmp_path: Path
) -> None:
    (tmp_path / "journal").write_bytes(b"in the way")
    before = contents(repo)
    for name, given in (
        ("edit_file", {"path": "src/a.py", "mode": "append", "content": "x"}),
        ("create_file", {"path": "new", "content": "x"}),
        ("mkdir", {"path": "made"}),
        ("delete_path", {"path": "src", "recursive": True}),
    ):
        assert not call(name, **given).success
    assert contents(repo) == before
    assert ChangeJournal(tmp_path / "journal", context.root).changes == []
    (aside,) = tmp_path.glob("journal.unreadable-*")
    assert aside.read_bytes() == b"in the way"


@posix_only
def test_other_users_may_not_read_a_journal(
    repo: Path, context: ToolContext, call: Call, tmp_path: Path
) -> None:
    call("edit_file", path="src/a.py", mode="append", content="two\n")
    assert (tmp_path / "journal").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "journal").iterdir())


def test_a_journal_has_a_place_of_its_own_under_user_data(
    user_data: Path, context: ToolContext
) -> None:
    journal = ChangeJournal.from_user_data(user_data, "2bc53e39", context.root)
    with journal.record_folders("mkdir", (context.root.folder / "made",)):
        pass
    assert (user_data / "agent" / "journals" / "2bc53e39" / "journal.jsonl").exists()


def test_of_calls_at_once_on_one_file_none_is_lost(
    repo: Path, context: ToolContext, call: Call
) -> None:
    """Each is done, or says that the file was changed meanwhile."""
    outcomes: dict[str, bool] = {}

    def append(name: str) -> None:
        outcomes[name] = call(
            "edit_file", path="src/a.py", mode="append", content=f"{name}\n"
        ).success

    threads = [threading.Thread(target=append, args=(f"thread {n}",)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = (repo / "src" / "a.py").read_bytes().decode().split("\r\n")[1:-1]
    assert sorted(written) == sorted(name for name, success in outcomes.items() if success)
    assert written
    undo_all(context.journal)
    assert (repo / "src" / "a.py").read_bytes() == b"one\r\n"
