from collections.abc import Iterator
from pathlib import Path

import pytest
from support.lark_world import LarkWorld, open_lark_world


@pytest.fixture
def world(user_data: Path) -> Iterator[LarkWorld]:
    with open_lark_world(user_data) as opened:
        opened.bind()
        yield opened
