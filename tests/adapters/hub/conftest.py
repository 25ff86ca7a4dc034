from collections.abc import Iterator
from pathlib import Path

import pytest
from support.hub_world import DeviceClient, HubWorld, open_hub


@pytest.fixture
def hub(user_data: Path) -> Iterator[HubWorld]:
    with open_hub(user_data) as opened:
        yield opened


@pytest.fixture
def phone(hub: HubWorld) -> DeviceClient:
    return hub.pair("phone")
