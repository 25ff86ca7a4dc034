import time
from pathlib import Path

import jwt
import pytest
from codekernel.adapters.hub.access.devices import DeviceRegistry
from codekernel.adapters.hub.access.tokens import TOKEN_TTL_SECONDS, AccessTokens
from codekernel.adapters.hub.database import HubDatabase


@pytest.fixture
def devices(tmp_path: Path) -> DeviceRegistry:
    return DeviceRegistry(HubDatabase(tmp_path))


def test_a_token_leads_to_its_device(devices: DeviceRegistry) -> None:
    device, _ = devices.add("phone")
    tokens = AccessTokens(devices)
    token = tokens.make_token(device)
    assert tokens.find_device(token) == device
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["ns"] == "default"
    assert isinstance(claims["uid"], int)
    assert claims["exp"] - claims["iat"] == TOKEN_TTL_SECONDS <= 15 * 60


def test_a_token_ends_after_fifteen_minutes(devices: DeviceRegistry) -> None:
    device, _ = devices.add("phone")
    tokens = AccessTokens(devices, clock=lambda: time.time() - TOKEN_TTL_SECONDS - 1)
    token = tokens.make_token(device)
    assert tokens.find_device(token) is None


def test_a_token_ends_with_its_device(devices: DeviceRegistry) -> None:
    device, _ = devices.add("phone")
    tokens = AccessTokens(devices)
    token = tokens.make_token(device)
    devices.revoke("phone")
    assert tokens.find_device(token) is None


def test_forged_tokens_are_refused(devices: DeviceRegistry) -> None:
    device, key = devices.add("phone")
    tokens = AccessTokens(devices)
    claims = jwt.decode(tokens.make_token(device), options={"verify_signature": False})
    forged = [
        "",
        "a.b.c",
        key,
        jwt.encode(claims, b"x" * 32, "HS256"),
        jwt.encode(claims, "", "none"),
        AccessTokens(devices).make_token(device),  # of another run of the hub
    ]
    assert [tokens.find_device(token) for token in forged] == [None] * len(forged)
