"""Every part of a score has words of its own, in a terminal and in the app."""

import re
from pathlib import Path

import pytest
from codekernel.cli.output.search_results import SIGNAL_DESCRIPTIONS

ROOT = Path(__file__).parents[2]
WORDS = ROOT / "electron-bridge" / "app" / "pages" / "repository" / "words"
# A signal is set by its name, in a dictionary, or with the function that finds it.
SIGNAL = re.compile(
    r'signals\["([^"]+)"\]|_add_signal\(each, "([^"]+)"'
    r'|\("([a-z ]+)", (?:boosts\.)?[a-z_]+\(|\{"([a-z]+)": \w+'
)


def signals() -> set[str]:
    found = set()
    for file in (ROOT / "kernel" / "codekernel" / "search").glob("*.py"):
        for names in SIGNAL.findall(file.read_text("utf-8")):
            found.update(filter(None, names))
    return found


def test_the_terminal_says_every_part_of_a_score() -> None:
    assert {"definition", "reranker", "nearness", "meaning of its path", "exact"} <= signals()
    assert signals() <= SIGNAL_DESCRIPTIONS.keys()


@pytest.mark.parametrize("file", ["finding_en.js", "finding_zh.js"])
def test_the_app_says_every_part_of_a_score(file: str) -> None:
    text = (WORDS / file).read_text("utf-8")
    assert [
        name for name in SIGNAL_DESCRIPTIONS if f"'why.part.{name.replace(' ', '-')}'" not in text
    ] == []
