"""Thousands of random edits, our hunks beside those of the package itself."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from codekernel.domain.diff import compute_structured_patch
from support.javascript import MUST_RUN, require_node

ORACLE = Path(__file__).parents[1] / "fixtures" / "jsdiff"
PAIRS = 4_000
INSTALL_SECONDS = 100
FEW_LINES = ("a", "b", "c", "", "  x", "}")
Pair = tuple[str, str]


def jsdiff(pairs: list[Pair]) -> list[object]:
    done = subprocess.run(
        [str(shutil.which("node")), "hunks.cjs"],
        cwd=ORACLE,
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    found: list[object] = json.loads(done.stdout)
    return found


def demand_jsdiff() -> None:
    require_node()
    if (ORACLE / "node_modules" / "diff").is_dir():
        return
    npm = shutil.which("npm")
    words = [str(npm), "ci", "--prefer-offline", "--no-audit", "--no-fund"]
    done = npm and subprocess.run(
        words, cwd=ORACLE, capture_output=True, check=False, timeout=INSTALL_SECONDS
    )
    if not done or done.returncode:
        reason = f"the Node package diff is missing: run npm ci in {ORACLE.name}"
        pytest.fail(reason) if MUST_RUN else pytest.skip(reason)


def text_of(chance: random.Random, lines: list[str]) -> str:
    """Some lines, with one kind of line end or all of them; now and then none at the end."""
    ends = chance.choice([("\n",), ("\r\n",), ("\n", "\r\n", "\r", "\u2028")])
    text = "".join(line + chance.choice(ends) for line in lines)
    return text if chance.random() < 0.7 else text.rstrip("\r\n")


def edited(chance: random.Random, text: str, words: list[str]) -> str:
    lines = text.split("\n")
    for _ in range(chance.randint(1, 5)):
        at, size = chance.randrange(len(lines) + 1), chance.randint(0, 4)
        lines[at : at + size] = chance.choices(words, k=chance.randint(0, 4))
    return "\n".join(lines)


def random_pair(chance: random.Random) -> Pair:
    words = [*FEW_LINES[: chance.randint(1, 6)]]
    words += [f"line {number}" for number in range(chance.choice([0, 0, 5, 40]))]
    old = text_of(chance, chance.choices(words, k=chance.choice([0, 1, 3, 10, 40, 80])))
    if chance.random() < 0.6:
        return old, edited(chance, old, words)
    return old, text_of(chance, chance.choices(words, k=chance.choice([0, 1, 3, 10, 40])))


@pytest.mark.slow
def test_hunks_of_random_edits_equal_those_of_the_package() -> None:
    demand_jsdiff()
    chance = random.Random(20_000)  # noqa: S311 - repeatable, not secret
    pairs = [random_pair(chance) for _ in range(PAIRS)]
    for pair, expected in zip(pairs, jsdiff(pairs), strict=True):
        assert [hunk.to_json() for hunk in compute_structured_patch(*pair)] == expected, pair
