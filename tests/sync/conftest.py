from collections.abc import Iterator
from pathlib import Path

import pytest
from support.scripted_agent import EngineWorld, open_world


@pytest.fixture
def world(user_data: Path) -> Iterator[EngineWorld]:
    with open_world(user_data) as opened:
        yield opened
