from pathlib import Path
from typing import Any

import pytest
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tools import string_edit


def edited(context: ToolContext, path: str, old: str, new: str, **more: Any) -> ToolOutcome:
    given = {"file_path": path, "old_string": old, "new_string": new, **more}
    return ToolRegistry((string_edit.edit,)).call("Edit", given, context)


def test_the_one_occurrence_is_replaced_and_all_is_told(repo: Path, context: ToolContext) -> None:
    (repo / "a.py").write_bytes(b"a = 1\nb = 2\n")
    outcome = edited(context, "a.py", "b = 2", "b = 3")
    assert outcome.success
    assert outcome.data == {
        "filePath": str(repo / "a.py"),
        "oldString": "b = 2",
        "newString": "b = 3",
        "originalFile": "a = 1\nb = 2\n",
        "structuredPatch": [
            {
                "oldStart": 1,
                "oldLines": 2,
                "newStart": 1,
                "newLines": 2,
                "lines": [" a = 1", "-b = 2", "+b = 3"],
            }
        ],
    }
    assert (repo / "a.py").read_bytes() == b"a = 1\nb = 3\n"


@pytest.mark.parametrize("pattern", ["$&", "$1", "$$", "\\1", "\\g<0>", "\\n"])
def test_a_replacement_is_no_pattern(repo: Path, context: ToolContext, pattern: str) -> None:
    (repo / "a.txt").write_bytes(b"x (here) y\n")
    assert edited(context, "a.txt", "(here)", pattern).success
    assert (repo / "a.txt").read_text(encoding="utf-8") == f"x {pattern} y\n"


@pytest.mark.parametrize(
    ("before", "old", "after"),
    [
        (b"a\nb\nc\n", "b", b"a\nc\n"),
        (b"a\r\nb\r\nc\r\n", "b", b"a\r\nc\r\n"),
        (b"a\nb\nc\n", "b\n", b"a\nc\n"),
        (b"a\nb\n\nc\n", "b\n", b"a\n\nc\n"),
        (b"a b c\n", " b", b"a c\n"),
        (b"a\nb", "b", b"a\n"),
    ],
)
def test_deleting_takes_the_line_end_behind_with_it(
    repo: Path, context: ToolContext, before: bytes, old: str, after: bytes
) -> None:
    (repo / "a.txt").write_bytes(before)
    assert edited(context, "a.txt", old, "").success
    assert (repo / "a.txt").read_bytes() == after


def test_newlines_match_carriage_returns_and_become_them(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"a\r\nb\r\nc\r\nmixed\nd\r\n")
    assert edited(context, "a.txt", "a\nb\n", "A\nB\nnew\n").success
    assert (repo / "a.txt").read_bytes() == b"A\r\nB\r\nnew\r\nc\r\nmixed\nd\r\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nowhere", "x", "does not occur"),
        ("twice", "x", "occurs 2 times"),
        ("same", "same", "are the same"),
        ("", "x", "exists already"),
        ("same", "\ud800", "surrogate"),
    ],
)
def test_what_is_not_clear_is_refused_and_nothing_changes(
    repo: Path, context: ToolContext, old: str, new: str, said: str
) -> None:
    before = b"twice twice same\n"
    (repo / "a.txt").write_bytes(before)
    outcome = edited(context, "a.txt", old, new)
    assert not outcome.success
    assert said in outcome.text
    assert (repo / "a.txt").read_bytes() == before
    assert context.journal.changes == []


def test_every_occurrence_is_replaced_when_asked_for(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"x y x\nx\n")
    assert edited(context, "a.txt", "x", "z", replace_all=True).success
    assert (repo / "a.txt").read_bytes() == b"z y z\nz\n"


def test_an_empty_old_string_makes_a_file(repo: Path, context: ToolContext) -> None:
    outcome = edited(context, "sub/new.txt", "", "one\n")
    assert (repo / "sub" / "new.txt").read_bytes() == b"one\n"
    assert outcome.data["originalFile"] == ""
    assert outcome.data["structuredPatch"][0]["lines"] == ["+one"]


def test_a_notebook_is_not_edited_as_text(repo: Path, context: ToolContext) -> None:
    (repo / "a.ipynb").write_bytes(b"{}")
    assert "NotebookEditCell" in edited(context, "a.ipynb", "{}", "{ }").text
    assert not edited(context, "b.IPYNB", "", "{}").success


def test_a_binary_or_absent_file_is_refused(repo: Path, context: ToolContext) -> None:
    (repo / "a.bin").write_bytes(b"\0\1\2abc")
    assert "binary" in edited(context, "a.bin", "abc", "x").text
    assert "not found" in edited(context, "b.txt", "abc", "x").text
