from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.adapters.hub.events import EventLimits
from codekernel.adapters.hub.server import HEAD_TIMEOUT_SECONDS
from support.hub_world import DeviceClient, HubWorld, open_hub


@pytest.fixture
def limits() -> EventLimits:
    return EventLimits()


@pytest.fixture
def head_timeout_seconds() -> float:
    return HEAD_TIMEOUT_SECONDS


@pytest.fixture
def hub(user_data: Path, limits: EventLimits, head_timeout_seconds: float) -> Iterator[HubWorld]:
    with open_hub(user_data, limits=limits, head_timeout_seconds=head_timeout_seconds) as opened:
        yield opened


@pytest.fixture
def phone(hub: HubWorld) -> DeviceClient:
    return hub.pair("phone")
