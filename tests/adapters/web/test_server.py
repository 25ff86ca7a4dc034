"""``codekernel web`` beside somebody who means no good, with the usual number of descriptors."""

import socket
import sys
from collections.abc import Iterator

import pytest
from adapters.web.browsing import Browser, WebProcess
from support.hostile_connections import (
    limit_descriptors,
    open_half_connections,
    parse_status,
    send_raw_request,
)

DESCRIPTORS = 1024

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit"),
]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    place = tmp_path_factory.mktemp("hostile")
    for name in ("userData", "demo"):
        (place / name).mkdir()
    limit = limit_descriptors(DESCRIPTORS)
    with WebProcess(place / "userData", place / "demo", "--no-browser", before=limit) as running:
        yield running


@pytest.fixture(scope="module")
def browser(web: WebProcess) -> Browser:
    return web.browser()


@pytest.mark.parametrize("count", [400, 3000])
def test_half_open_connections_shut_nobody_out(browser: Browser, count: int) -> None:
    with browser.tab() as before:
        with open_half_connections(browser.port, count):
            assert browser.get("/repos.html")[0] == 200
            with browser.tab() as tab:
                assert tab.call("getRepos")
            assert before.call("getRepos")
        assert before.call("getRepos")
        assert browser.get("/repos.html")[0] == 200


def test_malformed_requests_get_an_answer_and_one_quiet_line(
    web: WebProcess, browser: Browser
) -> None:
    for target in ("*", "//", "/%", "/\0", "http://127.0.0.1/", "/\udcff", "/" + "a" * 9_000, ""):
        request = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n\r\n"
        answer = send_raw_request(web.port, request.encode("utf-8", "surrogateescape"))
        assert parse_status(answer) in {400, 414}, target
    assert browser.get("/repos.html")[0] == 200
    log = (web.user_data / "logs" / "kernel.log").read_text(encoding="utf-8")
    assert "Traceback" not in log + "".join(web.said)
    assert log.count("web refused a connection") == 1


def test_a_tab_that_takes_no_answers_holds_up_no_other(browser: Browser) -> None:
    pings = (b"\x89\xfd" + b"\0" * 4 + b"p" * 125) * 100_000
    with socket.create_connection(("127.0.0.1", browser.port), timeout=60) as deaf:
        deaf.sendall(
            f"GET /kernel HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\n"
            f"Origin: http://127.0.0.1:{browser.port}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"Sec-WebSocket-Protocol: codekernel, {browser.secret}\r\n\r\n".encode()
        )
        assert parse_status(deaf.recv(1000)) == 101
        deaf.settimeout(1)
        with pytest.raises(TimeoutError):
            deaf.sendall(pings)
        with browser.tab() as other:
            assert other.call("getRepos")
        assert browser.get("/repos.html")[0] == 200
