from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.scripted_agent import EngineWorld, open_world


@pytest.fixture
def changes() -> dict[str, Any]:
    """What a test gives the engine instead of what the kernel does."""
    return {}


@pytest.fixture
def world(user_data: Path, changes: dict[str, Any]) -> Iterator[EngineWorld]:
    with open_world(user_data, **changes) as opened:
        yield opened
