import json
import random
from pathlib import Path

import pytest
from codekernel.domain.diff import (
    NO_NEWLINE_MARKER,
    DiffHunk,
    DiffOp,
    DiffRun,
    compute_diff_runs,
    compute_structured_patch,
)
from hypothesis import given
from hypothesis import strategies as st

VECTORS = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "hunk_vectors.json").read_text(encoding="utf-8")
)
LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "}\n", "d\r", "e\u2028"]))


def lines_of(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]]


def applied(old: str, hunks: list[DiffHunk]) -> str:
    """The new text, made from the old one by its hunks alone, every old line compared."""
    before, result, at = lines_of(old), [], 0
    for hunk in hunks:
        start = hunk.old_start - 1
        result += before[at:start]
        at = start
        for position, shown in enumerate(hunk.lines):
            if shown == NO_NEWLINE_MARKER:
                continue
            ended = hunk.lines[position + 1 : position + 2] != (NO_NEWLINE_MARKER,)
            line = shown[1:] + ("\n" if ended else "")
            if shown[0] in " -":
                assert before[at] == line
                at += 1
            if shown[0] in " +":
                result.append(line)
    return "".join(result + before[at:])


@pytest.mark.parametrize("name", VECTORS)
def test_hunks_equal_the_golden_ones_of_jsdiff(name: str) -> None:
    vector = VECTORS[name]
    hunks = compute_structured_patch(vector["old"], vector["new"])
    assert [hunk.to_json() for hunk in hunks] == vector["hunks"]


@given(old=LINES, new=LINES)
def test_the_old_text_becomes_the_new_one_by_its_hunks_alone(
    old: list[str], new: list[str]
) -> None:
    before, after = "".join(old), "".join(new)
    hunks = compute_structured_patch(before, after)
    assert applied(before, hunks) == after
    for hunk in hunks:
        shown = [line[0] for line in hunk.lines]
        assert hunk.old_lines == shown.count(" ") + shown.count("-")
        assert hunk.new_lines == shown.count(" ") + shown.count("+")


@given(text=LINES)
def test_equal_texts_have_no_hunks(text: list[str]) -> None:
    assert compute_structured_patch("".join(text), "".join(text)) == []


def test_of_many_ways_the_one_with_the_fewest_edits_is_taken() -> None:
    runs = compute_diff_runs(list("abcabba"), list("cbabac"))
    assert sum(run.count for run in runs if run.op is not DiffOp.KEPT) == 5


def test_a_search_beyond_its_effort_replaces_all_between_common_beginning_and_end() -> None:
    chance = random.Random(7)  # noqa: S311 - repeatable, not secret
    old = ["top", *chance.choices("ab", k=400), "same", "end"]
    new = ["top", *chance.choices("ab", k=400), "same", "end"]
    old[1], new[1], old[400], new[400] = "x", "y", "x", "y"
    assert compute_diff_runs(old, new, effort=1000) == [
        DiffRun(DiffOp.KEPT, 1),
        DiffRun(DiffOp.REMOVED, 400),
        DiffRun(DiffOp.ADDED, 400),
        DiffRun(DiffOp.KEPT, 2),
    ]


@pytest.mark.slow
def test_two_large_files_without_a_likeness_are_given_up_as_one_hunk() -> None:
    chance = random.Random(3)  # noqa: S311 - repeatable, not secret
    old = "".join(f"{chance.randrange(2000)}\n" for _ in range(12_000))
    new = "".join(f"{chance.randrange(2000)}\n" for _ in range(12_000))
    hunks = compute_structured_patch(old, new)
    assert len(hunks) == 1
    assert applied(old, hunks) == new


def test_few_changes_in_a_large_file_cost_few_steps() -> None:
    old = [f"line {number}" for number in range(10_000)]
    new = [*old[:3000], "changed", *old[3001:8000], "put in", *old[8000:]]
    assert compute_diff_runs(old, new, effort=11_000) == [
        DiffRun(DiffOp.KEPT, 3000),
        DiffRun(DiffOp.REMOVED, 1),
        DiffRun(DiffOp.ADDED, 1),
        DiffRun(DiffOp.KEPT, 4999),
        DiffRun(DiffOp.ADDED, 1),
        DiffRun(DiffOp.KEPT, 2000),
    ]
