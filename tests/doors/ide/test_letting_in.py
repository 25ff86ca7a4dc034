"""Who may call tools here: programs of this machine with the token, and no page of a browser."""

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from kernel.doors.ide.connecting import Address
from kernel.doors.ide.places import is_loopback
from kernel.doors.ide.port import Port
from kernel.errors import WrongParam


def status(url: str, **headers: str) -> int:
    try:
        with connect(url, additional_headers=headers, proxy=None, open_timeout=30):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def test_the_token_is_asked_for_and_foreign_pages_are_refused(port: Port) -> None:
    known = {"Authorization": f"Bearer {port.token}"}
    assert status(port.address) == 401
    assert status(port.address, Authorization="Bearer guess") == 401
    assert status(f"{port.address}/?token=guess") == 401
    assert status(port.address, **known) == 101
    assert status(f"{port.address}/any/path?token={port.token}") == 101
    assert status(port.address, Origin="http://evil.example", **known) == 403
    assert status(port.address, Origin="null", **known) == 403
    assert status(port.address, Origin=f"http://127.0.0.1:{port.number}", **known) == 101
    assert status(port.address, Host=f"evil.example:{port.number}", **known) in {400, 403}


def test_the_port_is_on_loopback(port: Port) -> None:
    assert port.bound[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True),
        ("localhost.evil.example", False), ("192.0.2.1", False), ("10.0.0.1", False),
        ("example.com", False), ("", False),
    ],
)  # fmt: skip
def test_what_this_machine_is(host: str, expected: bool) -> None:  # noqa: FBT001
    assert is_loopback(host) is expected


def test_another_machine_is_dialled_only_if_that_is_meant() -> None:
    with pytest.raises(WrongParam, match="--anywhere"):
        Address.of("wss://example.com/ws", "p", "/p")
    for wrong in ("http://127.0.0.1/", "127.0.0.1:80", "ws://"):
        with pytest.raises(WrongParam, match="no address of a WebSocket"):
            Address.of(wrong, "p", "/p")
    far = Address.of("wss://example.com/ws?mode=chat", "p", "/a b", anywhere=True)
    assert far.url.startswith("wss://example.com/ws?mode=chat&sessionId=")
    assert far.url.endswith("&projectKey=p&projectPath=%2Fa+b")
    own = Address.of("ws://localhost/ws?projectKey=autoloop&sessionId=test-123", "p", "/p")
    assert own.project_key == "autoloop"
    assert "sessionId=test-123" in own.url
