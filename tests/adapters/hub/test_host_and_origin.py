import pytest
from codekernel.adapters.hub.devices import AddressRules


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "LOCALHOST:8090", "[::1]:8090"])
def test_on_loopback_its_names_are_known(host: str) -> None:
    assert AddressRules.build(8090).is_known_host(host)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:80", "evil.example:8090", "192.168.1.5:8090", ""]
)
def test_on_loopback_nothing_else_is_known(host: str) -> None:
    assert not AddressRules.build(8090).is_known_host(host)


@pytest.mark.parametrize("host", ["192.168.1.5:8090", "[fe80::1]:8090", "hub.example"])
def test_anywhere_addresses_and_the_tunnel_are_known(host: str) -> None:
    rules = AddressRules.build(8090, url="https://hub.example", is_anywhere=True)
    assert rules.is_known_host(host)


@pytest.mark.parametrize(
    "host", ["evil.example:8090", "192.168.1.5.evil.example:8090", "[not-an-address"]
)
def test_anywhere_foreign_names_are_not_known(host: str) -> None:
    rules = AddressRules.build(8090, url="https://hub.example", is_anywhere=True)
    assert not rules.is_known_host(host)


def test_pages_of_the_hub_and_of_the_settings_may_call() -> None:
    rules = AddressRules.build(8090, origins=["https://app.example"])
    host = "127.0.0.1:8090"
    assert rules.is_known_origin("http://127.0.0.1:8090", host)
    assert rules.is_known_origin("https://app.example", host)
    assert not rules.is_known_origin("https://app.example.evil", host)
    assert not rules.is_known_origin("http://127.0.0.1:8091", host)
    assert not rules.is_known_origin("null", host)
    assert not rules.is_named_origin("http://127.0.0.1:8090")
