from pathlib import Path

import pytest
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tools import string_edit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Change = tuple[str, str] | tuple[str, str, bool]
PIECES = st.text(st.sampled_from("ab\n"), max_size=3)


def edited(context: ToolContext, path: str, *changes: Change) -> ToolOutcome:
    edits = [
        {"old_string": old, "new_string": new, "replace_all": bool(rest and rest[0])}
        for old, new, *rest in changes
    ]
    return ToolRegistry((string_edit.multi_edit,)).call(
        "MultiEdit", {"file_path": path, "edits": edits}, context
    )


def test_edits_are_done_one_after_another_and_told(repo: Path, context: ToolContext) -> None:
    (repo / "src").mkdir()
    (repo / "src" / "a.txt").write_bytes(b"x x\ny\n")
    outcome = edited(context, "src/a.txt", ("x", "y"), ("y", "z", True))
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
    outcome = edited(context, "a.txt", ("x", "y"), ("w" * 60, "z"))
    assert not outcome.success
    assert outcome.data == {}
    assert outcome.text == f"Error in edit 2: String not found: {'w' * 50}..."
    assert (repo / "a.txt").read_bytes() == b"x\n"
    assert context.journal.changes == []


def test_long_strings_are_told_by_their_beginning(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"x" * 300)
    [applied] = edited(context, "a.txt", ("x" * 300, "y" * 300)).data["editsApplied"]
    assert (applied["old_string"], applied["new_string"]) == ("x" * 100, "y" * 100)


def test_what_an_earlier_edit_took_away_is_no_mistake_for_replace_all(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"x y\n")
    outcome = edited(context, "a.txt", ("x", "z"), ("x", "q", True))
    assert outcome.success
    assert outcome.data["editsApplied"][1]["occurrences"] == 0


def test_what_never_was_there_is_a_mistake_even_for_replace_all(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"x\n")
    assert edited(context, "a.txt", ("q", "z", True)).text == (
        "Error in edit 1: String not found: q..."
    )


@pytest.mark.parametrize("pattern", ["$&", "$1", "$$", "\\1"])
def test_a_replacement_is_no_pattern(repo: Path, context: ToolContext, pattern: str) -> None:
    (repo / "a.txt").write_bytes(b"x x\n")
    edited(context, "a.txt", ("x", pattern, True))
    assert (repo / "a.txt").read_text(encoding="utf-8") == f"{pattern} {pattern}\n"


def test_deleting_leaves_the_line_end(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"a\nb\nc\n")
    edited(context, "a.txt", ("b", ""))
    assert (repo / "a.txt").read_bytes() == b"a\n\nc\n"


def test_a_new_file_begins_with_an_empty_string(repo: Path, context: ToolContext) -> None:
    outcome = edited(context, "new.txt", ("", "one\ntwo\n"), ("two", "2"))
    assert outcome.data["wasNewFile"] is True
    assert (repo / "new.txt").read_bytes() == b"one\n2\n"


def test_an_empty_string_puts_something_in_front_of_an_existing_file(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"old\r\n")
    edited(context, "a.txt", ("", "head\n"))
    assert (repo / "a.txt").read_bytes() == b"head\r\nold\r\n"


def test_files_that_cannot_be_edited_are_named_as_clients_know_it(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.bin").write_bytes(b"\0\1\2x")
    assert edited(context, "a.bin", ("x", "y")).text == "Error: Cannot edit binary files"
    for path, changes in (
        ("none.txt", [("x", "y")]),
        ("no/folder.txt", [("", "y")]),
        ("../out.txt", [("", "y")]),
        ("a.ipynb", [("", "y")]),
        ("a.txt", []),
    ):
        outcome = edited(context, path, *changes)
        assert outcome.text.startswith("Error applying multi-edit: "), path
        assert not outcome.success
    assert sorted(file.name for file in repo.iterdir()) == ["a.bin"]


@pytest.mark.parametrize("change", [("x", "x"), ("", "y", True), ("x", "\udc80")])
def test_an_edit_without_sense_names_its_number(
    repo: Path, context: ToolContext, change: Change
) -> None:
    (repo / "a.txt").write_bytes(b"x\n")
    assert edited(context, "a.txt", ("x", "y"), change).text.startswith("Error in edit 2: ")
    assert (repo / "a.txt").read_bytes() == b"x\n"


def test_a_file_does_not_grow_without_limit(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"x" * 100_000)
    assert "too large" in edited(context, "a.txt", ("x", "y" * 1000, True)).text


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    outcome = edited(context, "a.txt", *changes)
    after = text
    for old, new, everywhere in changes:
        after = after.replace(old, new, -1 if everywhere else 1)
    # A line end alone is a head by which a text without any is not to be known.
    ends = line_end if "\n" in text else "\n"
    expected = after.replace("\n", ends).encode() if outcome.success else before
    assert (repo / "a.txt").read_bytes() == expected
