"""The world of these tests."""

from pathlib import Path

import pytest
from sharing.team_world import TeamWorld


@pytest.fixture
def world(tmp_path: Path) -> TeamWorld:
    return TeamWorld(tmp_path)
