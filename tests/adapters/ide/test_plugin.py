"""Who may call tools here: programs of this machine with the token, and no page of a browser."""

import pytest
from codekernel.adapters.ide.plugin import BackendAddress, WebSocketPort, is_loopback
from codekernel.errors import WrongParam
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect


def status(url: str, **headers: str) -> int:
    try:
        with connect(url, additional_headers=headers, proxy=None, open_timeout=30):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def test_the_token_is_required_and_foreign_pages_are_rejected(port: WebSocketPort) -> None:
    known = {"Authorization": f"Bearer {port.token}"}
    assert status(port.url) == 401
    assert status(port.url, Authorization="Bearer guess") == 401
    assert status(f"{port.url}/?token=guess") == 401
    assert status(port.url, **known) == 101
    assert status(f"{port.url}/any/path?token={port.token}") == 101
    assert status(port.url, Origin="http://evil.example", **known) == 403
    assert status(port.url, Origin="null", **known) == 403
    assert status(port.url, Origin=f"http://127.0.0.1:{port.port_number}", **known) == 101
    assert status(port.url, Host=f"evil.example:{port.port_number}", **known) in {400, 403}


def test_the_port_is_on_loopback(port: WebSocketPort) -> None:
    assert port.bound_address[0] == "127.0.0.1"


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


def test_another_machine_is_connected_to_only_if_allowed() -> None:
    with pytest.raises(WrongParam, match="--anywhere"):
        BackendAddress.from_url("wss://example.com/ws", "p", "/p")
    for wrong in ("http://127.0.0.1/", "127.0.0.1:80", "ws://"):
        with pytest.raises(WrongParam, match="no address of a WebSocket"):
            BackendAddress.from_url(wrong, "p", "/p")
    far = BackendAddress.from_url("wss://example.com/ws?mode=chat", "p", "/a b", allow_remote=True)
    assert far.url.startswith("wss://example.com/ws?mode=chat&sessionId=")
    assert far.url.endswith("&projectKey=p&projectPath=%2Fa+b")
    own = BackendAddress.from_url(
        "ws://localhost/ws?projectKey=autoloop&sessionId=test-123", "p", "/p"
    )
    assert own.project_key == "autoloop"
    assert "sessionId=test-123" in own.url
