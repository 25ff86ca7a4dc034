"""Random sequences of edits against a plain model: no byte is lost, a failure touches nothing."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent.calling import Call
from agent.edit_model import Refused, edited, some_edit, some_text
from codekernel.agent.tool import ToolContext
from codekernel.agent.workspace.text_file import hash_bytes
from support.effort import choose_tries
from support.undoing import undo_all

FEW, MANY = 50, choose_tries(1_500, full=10_000)
EDITS = 4
ENCODINGS = {
    "utf-8": ("utf-8", b""),
    "marked": ("utf-8", b"\xef\xbb\xbf"),
    "utf-16": ("utf-16-le", b"\xff\xfe"),
}


MEMORY = Path("/dev/shm")  # noqa: S108 - only as the folder that a temporary one is made in


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory where that is possible: a real disk takes four milliseconds to flush a file."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


def check_random_edits(seed: int, file: Path, context: ToolContext, call: Call) -> None:
    dice = random.Random(seed)  # noqa: S311 - a test that can be run again
    codec, mark = ENCODINGS[dice.choice(list(ENCODINGS))]
    line_ends = dice.choice(["\n", "\r\n", None])
    text = "".join(
        (line_ends or dice.choice(["\n", "\r\n"])) if each == "\n" else each
        for each in some_text(dice)
    )
    began = mark + text.encode(codec)
    file.write_bytes(began)
    for _ in range(EDITS):
        given = some_edit(dice)
        before = file.read_bytes()
        try:
            expected = edited(text, given)
        except Refused:
            expected = None
        if dice.random() < 0.1:
            given["precondition"] = {"file_sha256": hash_bytes(before)}
        elif dice.random() < 0.1:
            given["precondition"] = {"file_sha256": hash_bytes(b"stale" + before)}
            expected = None
        given["dry_run"] = dice.random() < 0.1
        outcome = call("edit_file", path=file.name, **given)
        assert outcome.success == (expected is not None), (text, given, outcome.text)
        if expected is None or given["dry_run"]:
            assert file.read_bytes() == before, (text, given)
            continue
        assert file.read_bytes() == mark + expected.encode(codec), (text, given)
        assert outcome.data["sha256_after"] == hash_bytes(file.read_bytes())
        text = expected
    undo_all(context.journal)
    assert file.read_bytes() == began
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_random_edits_do_what_the_model_says(repo: Path, context: ToolContext, call: Call) -> None:
    for seed in range(FEW):
        check_random_edits(seed, repo / "a.txt", context, call)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_many_more_random_edits_do_what_the_model_says(
    repo: Path, context: ToolContext, call: Call
) -> None:
    for seed in range(FEW, FEW + MANY):
        check_random_edits(seed, repo / "a.txt", context, call)
