"""The app as a person uses it: in a real Electron, and in a real browser; see app/e2e."""

import sys
from pathlib import Path

import pytest
from support.javascript import APP, FILE_SECONDS, check_with_node, name_of, require_desktop

STORIES = sorted((APP / "e2e").glob("*.test.js"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(FILE_SECONDS)]


@pytest.mark.parametrize("story", STORIES, ids=name_of)
def test_the_story_goes_as_it_is_told(story: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_desktop()
    said = check_with_node(story)
    with capsys.disabled():
        for line in said.splitlines():
            if "figure:" in line:
                sys.stdout.write(f"{line}\n")


def test_there_are_stories() -> None:
    assert STORIES
