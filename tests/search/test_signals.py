"""Every signal has a description, in a terminal and in the app."""

from pathlib import Path

import pytest
from codekernel.cli.output.search_results import SIGNAL_DESCRIPTIONS
from codekernel.domain.index import Signal

TEXTS = Path(__file__).parents[2] / "electron-bridge" / "app" / "pages" / "repository" / "texts"


def test_the_terminal_describes_every_signal() -> None:
    assert SIGNAL_DESCRIPTIONS.keys() == set(Signal)


@pytest.mark.parametrize("file", ["search_en.js", "search_zh.js"])
def test_the_app_describes_every_signal(file: str) -> None:
    text = (TEXTS / file).read_text("utf-8")
    keys = [f"'why.part.{signal.replace(' ', '-')}'" for signal in Signal]
    assert [key for key in keys if key not in text] == []
