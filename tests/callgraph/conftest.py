"""The fixture that makes a repository with an index and a call graph."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from callgraph.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()
