"""The world of these tests."""

from pathlib import Path

import pytest
from base.base_world import BaseWorld


@pytest.fixture
def world(tmp_path: Path) -> BaseWorld:
    return BaseWorld(tmp_path)
