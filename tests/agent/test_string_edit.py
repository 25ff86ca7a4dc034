import os
from pathlib import Path
from typing import Any

import pytest
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tools import string_edit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.undoing import undo_all


def run_edit(context: ToolContext, path: str, old: str, new: str, **more: Any) -> ToolOutcome:
    given = {"file_path": path, "old_string": old, "new_string": new, **more}
    return ToolRegistry((string_edit.edit,)).call("Edit", given, context)


def test_the_one_occurrence_is_replaced_and_all_is_reported(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.py").write_bytes(b"a = 1\nb = 2\n")
    outcome = run_edit(context, "a.py", "b = 2", "b = 3")
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
    assert run_edit(context, "a.txt", "(here)", pattern).success
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
    assert run_edit(context, "a.txt", old, "").success
    assert (repo / "a.txt").read_bytes() == after


def test_newlines_match_carriage_returns_and_become_them(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"a\r\nb\r\nc\r\nmixed\nd\r\n")
    assert run_edit(context, "a.txt", "a\nb\n", "A\nB\nnew\n").success
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
    outcome = run_edit(context, "a.txt", old, new)
    assert not outcome.success
    assert said in outcome.text
    assert (repo / "a.txt").read_bytes() == before
    assert context.journal.changes == []


def test_every_occurrence_is_replaced_when_asked_for(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"x y x\nx\n")
    assert run_edit(context, "a.txt", "x", "z", replace_all=True).success
    assert (repo / "a.txt").read_bytes() == b"z y z\nz\n"


def test_an_empty_old_string_makes_a_file(repo: Path, context: ToolContext) -> None:
    outcome = run_edit(context, "sub/new.txt", "", "one\n")
    assert (repo / "sub" / "new.txt").read_bytes() == b"one\n"
    assert outcome.data["originalFile"] == ""
    assert outcome.data["structuredPatch"][0]["lines"] == ["+one"]


def test_a_notebook_is_not_edited_as_text(repo: Path, context: ToolContext) -> None:
    (repo / "a.ipynb").write_bytes(b"{}")
    assert "NotebookEditCell" in run_edit(context, "a.ipynb", "{}", "{ }").text
    assert not run_edit(context, "b.IPYNB", "", "{}").success


def test_a_binary_or_absent_file_is_refused(repo: Path, context: ToolContext) -> None:
    (repo / "a.bin").write_bytes(b"\0\1\2abc")
    assert "binary" in run_edit(context, "a.bin", "abc", "x").text
    assert "not found" in run_edit(context, "b.txt", "abc", "x").text


Change = tuple[str, str] | tuple[str, str, bool]
PIECES = st.text(st.sampled_from("ab\n"), max_size=3)


def run_multi_edit(context: ToolContext, path: str, *changes: Change) -> ToolOutcome:
    edits = [
        {"old_string": old, "new_string": new, "replace_all": bool(rest and rest[0])}
        for old, new, *rest in changes
    ]
    return ToolRegistry((string_edit.multi_edit,)).call(
        "MultiEdit", {"file_path": path, "edits": edits}, context
    )


def test_edits_are_done_one_after_another_and_reported(repo: Path, context: ToolContext) -> None:
    (repo / "src").mkdir()
    (repo / "src" / "a.txt").write_bytes(b"x x\ny\n")
    outcome = run_multi_edit(context, "src/a.txt", ("x", "y"), ("y", "z", True))
    assert (repo / "src" / "a.txt").read_bytes() == b"z x\nz\n"
    assert outcome.data["wasNewFile"] is False
    assert outcome.data["totalEdits"] == 2
    assert outcome.data["summary"] == "Successfully applied 2 edits to src/a.txt"
    assert outcome.data["editsApplied"] == [
        {"editIndex": 1, "success": True, "old_string": "x", "new_string": "y", "occurrences": 1},
        {"editIndex": 2, "success": True, "old_string": "y", "new_string": "z", "occurrences": 2},
    ]
    assert len(context.journal.changes) == 1


def test_one_edit_that_fails_leaves_everything_as_it_was(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"x\n")
    outcome = run_multi_edit(context, "a.txt", ("x", "y"), ("w" * 60, "z"))
    assert not outcome.success
    assert outcome.data == {}
    assert outcome.text == f"Error in edit 2: String not found: {'w' * 50}..."
    assert (repo / "a.txt").read_bytes() == b"x\n"
    assert context.journal.changes == []


def test_long_strings_are_reported_by_their_beginning(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"x" * 300)
    [applied] = run_multi_edit(context, "a.txt", ("x" * 300, "y" * 300)).data["editsApplied"]
    assert (applied["old_string"], applied["new_string"]) == ("x" * 100, "y" * 100)


def test_what_an_earlier_edit_took_away_is_no_mistake_for_replace_all(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"x y\n")
    outcome = run_multi_edit(context, "a.txt", ("x", "z"), ("x", "q", True))
    assert outcome.success
    assert outcome.data["editsApplied"][1]["occurrences"] == 0


def test_what_never_was_there_is_a_mistake_even_for_replace_all(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"x\n")
    assert run_multi_edit(context, "a.txt", ("q", "z", True)).text == (
        "Error in edit 1: String not found: q..."
    )


@pytest.mark.parametrize("pattern", ["$&", "$1", "$$", "\\1"])
def test_a_replacement_of_several_edits_is_no_pattern(
    repo: Path, context: ToolContext, pattern: str
) -> None:
    (repo / "a.txt").write_bytes(b"x x\n")
    run_multi_edit(context, "a.txt", ("x", pattern, True))
    assert (repo / "a.txt").read_text(encoding="utf-8") == f"{pattern} {pattern}\n"


def test_deleting_leaves_the_line_end(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"a\nb\nc\n")
    run_multi_edit(context, "a.txt", ("b", ""))
    assert (repo / "a.txt").read_bytes() == b"a\n\nc\n"


def test_a_new_file_begins_with_an_empty_string(repo: Path, context: ToolContext) -> None:
    outcome = run_multi_edit(context, "new.txt", ("", "one\ntwo\n"), ("two", "2"))
    assert outcome.data["wasNewFile"] is True
    assert (repo / "new.txt").read_bytes() == b"one\n2\n"


def test_an_empty_string_puts_something_in_front_of_an_existing_file(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"old\r\n")
    run_multi_edit(context, "a.txt", ("", "head\n"))
    assert (repo / "a.txt").read_bytes() == b"head\r\nold\r\n"


def test_files_that_cannot_be_edited_are_named_as_clients_know_it(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.bin").write_bytes(b"\0\1\2x")
    assert run_multi_edit(context, "a.bin", ("x", "y")).text == "Error: Cannot edit binary files"
    for path, changes in (
        ("none.txt", [("x", "y")]),
        ("no/folder.txt", [("", "y")]),
        ("../out.txt", [("", "y")]),
        ("a.ipynb", [("", "y")]),
        ("a.txt", []),
    ):
        outcome = run_multi_edit(context, path, *changes)
        assert outcome.text.startswith("Error applying multi-edit: "), path
        assert not outcome.success
    assert sorted(file.name for file in repo.iterdir()) == ["a.bin"]


@pytest.mark.parametrize("change", [("x", "x"), ("", "y", True), ("x", "\udc80")])
def test_an_edit_without_sense_names_its_number(
    repo: Path, context: ToolContext, change: Change
) -> None:
    (repo / "a.txt").write_bytes(b"x\n")
    assert run_multi_edit(context, "a.txt", ("x", "y"), change).text.startswith("Error in edit 2: ")
    assert (repo / "a.txt").read_bytes() == b"x\n"


def test_a_file_does_not_grow_without_limit(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"x" * 100_000)
    assert "too large" in run_multi_edit(context, "a.txt", ("x", "y" * 1000, True)).text


@settings(
    max_examples=settings().max_examples * 3,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    text=st.text(st.sampled_from("ab\n"), max_size=30),
    changes=st.lists(st.tuples(PIECES, PIECES, st.booleans()), min_size=1, max_size=5),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_random_edits_do_what_str_replace_does_or_nothing(
    repo: Path,
    context: ToolContext,
    text: str,
    changes: list[tuple[str, str, bool]],
    line_end: str,
) -> None:
    before = text.replace("\n", line_end).encode()
    (repo / "a.txt").write_bytes(before)
    outcome = run_multi_edit(context, "a.txt", *changes)
    after = text
    for old, new, everywhere in changes:
        after = after.replace(old, new, -1 if everywhere else 1)
    # A line end alone is a head by which a text without any is not to be known.
    ends = line_end if "\n" in text else "\n"
    expected = after.replace("\n", ends).encode() if outcome.success else before
    assert (repo / "a.txt").read_bytes() == expected


def run_replace(context: ToolContext, path: str, content: str) -> ToolOutcome:
    return ToolRegistry((string_edit.replace,)).call(
        "Replace", {"file_path": path, "content": content}, context
    )


def test_a_new_file_is_created_with_its_folders_and_no_patch(
    repo: Path, context: ToolContext
) -> None:
    outcome = run_replace(context, "deep/er/new.py", "x = 1\n")
    assert outcome.data == {
        "type": "create",
        "filePath": str(repo / "deep" / "er" / "new.py"),
        "content": "x = 1\n",
        "structuredPatch": [],
    }
    assert (repo / "deep" / "er" / "new.py").read_bytes() == b"x = 1\n"


def test_an_absolute_path_comes_back_as_it_was_given(repo: Path, context: ToolContext) -> None:
    given = f"{repo}{os.sep}.{os.sep}new.py"
    assert run_replace(context, given, "x").data["filePath"] == given


def test_an_existing_empty_file_counts_as_created(repo: Path, context: ToolContext) -> None:
    (repo / "empty.txt").touch()
    outcome = run_replace(context, "empty.txt", "now\n")
    assert (outcome.data["type"], outcome.data["structuredPatch"]) == ("create", [])
    assert (repo / "empty.txt").read_bytes() == b"now\n"


def test_an_existing_file_is_updated_with_a_patch_of_the_whole(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"one\ntwo\n")
    outcome = run_replace(context, "a.txt", "one\nTWO\n")
    assert outcome.data["type"] == "update"
    assert outcome.data["structuredPatch"][0]["lines"] == [" one", "-two", "+TWO"]
    assert "+1 -1" in outcome.text


def test_the_same_content_again_is_an_update_without_hunks(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"one\n")
    outcome = run_replace(context, "a.txt", "one\n")
    assert (outcome.data["type"], outcome.data["structuredPatch"]) == ("update", [])
    assert context.journal.changes == []


def test_a_file_with_carriage_returns_keeps_them(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    outcome = run_replace(context, "a.txt", "one\n2\r\nthree\n")
    assert (repo / "a.txt").read_bytes() == b"one\r\n2\r\nthree\r\n"
    assert outcome.data["content"] == "one\r\n2\r\nthree\r\n"
    assert outcome.data["structuredPatch"][0]["lines"] == [
        " one\r", "-two\r", "+2\r", "+three\r",
    ]  # fmt: skip


def test_only_the_head_of_a_file_decides_which_line_ends_it_has(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"x\n" * 3000 + b"y\r\n" * 5000)
    run_replace(context, "a.txt", "new\n")
    assert (repo / "a.txt").read_bytes() == b"new\n"


@pytest.mark.parametrize(("with_returns", "written"), [(4, b"a\r\nb\r\n"), (3, b"a\nb\n")])
def test_a_new_file_gets_the_line_ends_of_its_repository(
    repo: Path, context: ToolContext, with_returns: int, written: bytes
) -> None:
    for number in range(6):
        end = b"\r\n" if number < with_returns else b"\n"
        (repo / f"{number}.txt").write_bytes(b"line" + end)
    run_replace(context, "new.txt", "a\nb\n")
    assert (repo / "new.txt").read_bytes() == written


def test_encoding_mark_and_mode_stay(repo: Path, context: ToolContext) -> None:
    file = repo / "a.sh"
    file.write_bytes("\ufeffé\n".encode())
    file.chmod(0o755)
    run_replace(context, "a.sh", "\ufeffè\n")
    assert file.read_bytes() == "\ufeffè\n".encode()
    assert file.stat().st_mode & 0o777 == 0o755


def test_what_an_encoding_cannot_write_changes_nothing(repo: Path, context: ToolContext) -> None:
    before = "caf\xe9 cr\xe8me br\xfbl\xe9e\n".encode("latin-1")
    (repo / "a.txt").write_bytes(before)
    outcome = run_replace(context, "a.txt", "漢字\n")
    assert not outcome.success
    assert (repo / "a.txt").read_bytes() == before


@pytest.mark.parametrize(
    "path", ["../out.txt", "/etc/passwd", "", "link/out.txt", ".git/config", "a\0b"]
)
def test_a_path_that_leaves_the_root_or_is_none_is_refused(
    repo: Path, tmp_path: Path, context: ToolContext, path: str
) -> None:
    (repo / "link").symlink_to(tmp_path)
    assert not run_replace(context, path, "x").success
    assert not (tmp_path / "out.txt").exists()


def test_half_a_character_is_refused(repo: Path, context: ToolContext) -> None:
    assert not run_replace(context, "a.txt", "\ud800").success
    assert not (repo / "a.txt").exists()


def test_it_can_be_undone(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"one\r\n")
    run_replace(context, "a.txt", "two\n")
    run_replace(context, "new/b.txt", "b\n")
    undo_all(context.journal)
    assert (repo / "a.txt").read_bytes() == b"one\r\n"
    assert not (repo / "new").exists()
