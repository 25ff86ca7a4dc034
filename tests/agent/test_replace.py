import os
from pathlib import Path

import pytest
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tools import string_edit


def replaced(context: ToolContext, path: str, content: str) -> ToolOutcome:
    return ToolRegistry((string_edit.replace,)).call(
        "Replace", {"file_path": path, "content": content}, context
    )


def test_a_new_file_is_created_with_its_folders_and_no_patch(
    repo: Path, context: ToolContext
) -> None:
    outcome = replaced(context, "deep/er/new.py", "x = 1\n")
    assert outcome.data == {
        "type": "create",
        "filePath": str(repo / "deep" / "er" / "new.py"),
        "content": "x = 1\n",
        "structuredPatch": [],
    }
    assert (repo / "deep" / "er" / "new.py").read_bytes() == b"x = 1\n"


def test_an_absolute_path_comes_back_as_it_was_given(repo: Path, context: ToolContext) -> None:
    given = f"{repo}{os.sep}.{os.sep}new.py"
    assert replaced(context, given, "x").data["filePath"] == given


def test_an_existing_empty_file_counts_as_created(repo: Path, context: ToolContext) -> None:
    (repo / "empty.txt").touch()
    outcome = replaced(context, "empty.txt", "now\n")
    assert (outcome.data["type"], outcome.data["structuredPatch"]) == ("create", [])
    assert (repo / "empty.txt").read_bytes() == b"now\n"


def test_an_existing_file_is_updated_with_a_patch_of_the_whole(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"one\ntwo\n")
    outcome = replaced(context, "a.txt", "one\nTWO\n")
    assert outcome.data["type"] == "update"
    assert outcome.data["structuredPatch"][0]["lines"] == [" one", "-two", "+TWO"]
    assert "+1 -1" in outcome.text


def test_the_same_content_again_is_an_update_without_hunks(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"one\n")
    outcome = replaced(context, "a.txt", "one\n")
    assert (outcome.data["type"], outcome.data["structuredPatch"]) == ("update", [])
    assert context.journal.changes == []


def test_a_file_with_carriage_returns_keeps_them(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    outcome = replaced(context, "a.txt", "one\n2\r\nthree\n")
    assert (repo / "a.txt").read_bytes() == b"one\r\n2\r\nthree\r\n"
    assert outcome.data["content"] == "one\r\n2\r\nthree\r\n"
    assert outcome.data["structuredPatch"][0]["lines"] == [
        " one\r", "-two\r", "+2\r", "+three\r",
    ]  # fmt: skip


def test_only_the_head_of_a_file_decides_which_line_ends_it_has(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"x\n" * 3000 + b"y\r\n" * 5000)
    replaced(context, "a.txt", "new\n")
    assert (repo / "a.txt").read_bytes() == b"new\n"


@pytest.mark.parametrize(("with_returns", "written"), [(4, b"a\r\nb\r\n"), (3, b"a\nb\n")])
def test_a_new_file_gets_the_line_ends_of_its_repository(
    repo: Path, context: ToolContext, with_returns: int, written: bytes
) -> None:
    for number in range(6):
        end = b"\r\n" if number < with_returns else b"\n"
        (repo / f"{number}.txt").write_bytes(b"line" + end)
    replaced(context, "new.txt", "a\nb\n")
    assert (repo / "new.txt").read_bytes() == written


def test_encoding_mark_and_mode_stay(repo: Path, context: ToolContext) -> None:
    file = repo / "a.sh"
    file.write_bytes("\ufeffé\n".encode())
    file.chmod(0o755)
    replaced(context, "a.sh", "\ufeffè\n")
    assert file.read_bytes() == "\ufeffè\n".encode()
    assert file.stat().st_mode & 0o777 == 0o755


def test_what_an_encoding_cannot_write_changes_nothing(repo: Path, context: ToolContext) -> None:
    before = "caf\xe9 cr\xe8me br\xfbl\xe9e\n".encode("latin-1")
    (repo / "a.txt").write_bytes(before)
    outcome = replaced(context, "a.txt", "漢字\n")
    assert not outcome.success
    assert (repo / "a.txt").read_bytes() == before


@pytest.mark.parametrize(
    "path", ["../out.txt", "/etc/passwd", "", "link/out.txt", ".git/config", "a\0b"]
)
def test_a_path_that_leaves_the_root_or_is_none_is_refused(
    repo: Path, tmp_path: Path, context: ToolContext, path: str
) -> None:
    (repo / "link").symlink_to(tmp_path)
    assert not replaced(context, path, "x").success
    assert not (tmp_path / "out.txt").exists()


def test_half_a_character_is_refused(repo: Path, context: ToolContext) -> None:
    assert not replaced(context, "a.txt", "\ud800").success
    assert not (repo / "a.txt").exists()


def test_it_can_be_undone(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"one\r\n")
    replaced(context, "a.txt", "two\n")
    replaced(context, "new/b.txt", "b\n")
    context.journal.undo_all()
    assert (repo / "a.txt").read_bytes() == b"one\r\n"
    assert not (repo / "new").exists()
