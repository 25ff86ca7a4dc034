import time
from pathlib import Path

import jwt
import pytest
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.devices import (
    TOKEN_TTL_SECONDS,
    AccessTokens,
    DeviceKind,
    DeviceRegistry,
)
from codekernel.errors import WrongParam


@pytest.fixture
def database(tmp_path: Path) -> HubDatabase:
    return HubDatabase(tmp_path)


def test_a_device_is_found_by_its_key_alone(database: HubDatabase) -> None:
    devices = DeviceRegistry(database)
    device, key = devices.add("phone")
    assert devices.find_by_key(key) == device
    assert devices.find_by_key(key[:-1]) is None
    assert devices.find_by_key("") is None
    assert devices.find_by_key("\ud800") is None


def test_no_key_is_on_disk(database: HubDatabase) -> None:
    _, key = DeviceRegistry(database).add("phone")
    database.close()
    files = database.path.parent.iterdir()
    assert all(key.encode() not in each.read_bytes() for each in files)


def test_a_name_that_is_taken_gets_a_number(database: HubDatabase) -> None:
    devices = DeviceRegistry(database)
    names = [devices.add(" my  phone ")[0].name for _ in range(3)]
    assert names == ["my phone", "my phone 2", "my phone 3"]
    assert devices.add("")[0].name == "device"
    assert devices.add("", DeviceKind.MACHINE)[0].name == "machine"


def test_a_revoked_device_is_gone_for_every_process(tmp_path: Path, database: HubDatabase) -> None:
    devices, elsewhere = DeviceRegistry(database), DeviceRegistry(HubDatabase(tmp_path))
    device, key = devices.add("phone")
    assert elsewhere.revoke("phone")
    assert not elsewhere.revoke("phone")
    assert devices.find(device.id) is None
    assert devices.find_by_key(key) is None
    assert devices.list_all() == []


def test_the_number_of_devices_is_bounded(database: HubDatabase) -> None:
    devices = DeviceRegistry(database, max_devices=2)
    devices.add("a")
    devices.add("b")
    with pytest.raises(WrongParam, match="revoke"):
        devices.add("c")


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
