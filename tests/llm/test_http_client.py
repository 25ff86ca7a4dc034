"""Connections are kept, shared by nobody, and speak HTTP/2 where the server offers it."""

import json
import logging
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from codekernel import __version__
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, NetworkError
from codekernel.llm.http_client import (
    DEFAULT_TIMEOUTS,
    HAS_HTTP2,
    build_chat_request,
    make_http_client,
)
from llm.chatting import QUESTION, ask, backend_at, expect_failure, text_of, usage_of
from llm.loopback import HOST, Reply, endpoint, proxy, raw_server, speak_socks
from llm.test_network_errors import server_side
from llm.trying import KEY, failure
from support.chat_server import (
    ChatServer,
    StreamEvent,
    WaitForDisconnect,
    WaitForEvent,
    delta,
    end_reply,
    reply_text,
)
from support.environ import Environ


def test_the_room_and_its_pure_modules_do_not_import_httpx() -> None:
    program = "import sys, codekernel.llm, codekernel.llm.model_pool; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_the_client_names_itself_and_limits_each_phase() -> None:
    with make_http_client() as client:
        assert client.headers["User-Agent"] == f"codekernel/{__version__}"
        assert client.timeout == DEFAULT_TIMEOUTS
        assert client.timeout.as_dict() == {"connect": 10, "read": 30, "write": 10, "pool": 10}


def test_redirects_are_not_followed() -> None:
    with endpoint() as other, endpoint(Reply(307, headers={"Location": other.url})) as first:
        with make_http_client() as client:
            assert client.post(first.url).status_code == 307
        assert len(first.seen) == 1
        assert other.seen == []


def test_a_key_in_the_query_string_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with endpoint() as served, make_http_client() as client:
        client.post(served.url, params={"key": KEY})
        assert "key=" in served.seen[0].path
    assert "key=" not in caplog.text


def test_an_empty_key_sends_no_authorization() -> None:
    with make_http_client() as client:
        request = build_chat_request(client, "http://h/", api_key="", payload={})
    assert "Authorization" not in request.headers


def test_a_model_name_with_half_a_surrogate_pair_can_be_sent() -> None:
    with make_http_client() as client:
        request = build_chat_request(client, "http://h/", api_key="", payload={"model": "\ud800"})
    assert json.loads(request.content) == {"model": "\ud800"}


@pytest.mark.parametrize("url", ["http://\u2603\u2060.example/", "http://xn--a.invalid/"])
def test_a_host_that_no_name_rule_allows_is_explained(url: str) -> None:
    with make_http_client() as client, pytest.raises(NetworkError, match="cannot exist"):
        build_chat_request(client, url, api_key="", payload={})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_PROXY", "http://user:hunter22@host:port"),
        ("https_proxy", "ftp://user:hunter22@127.0.0.1:1"),
        ("NO_PROXY", "[::1]"),
    ],
)
def test_a_malformed_proxy_variable_is_named_but_not_quoted(
    environ: Environ, name: str, value: str
) -> None:
    environ[name] = value
    sentence = failure(f"http://{HOST}:1/v1")
    assert name.upper() in sentence
    assert "hunter22" not in sentence
    assert "http://host:port" in sentence


def test_a_ca_file_that_is_missing_or_no_pem_is_explained(environ: Environ, tmp_path: Path) -> None:
    environ["SSL_CERT_FILE"] = str(tmp_path / "missing.pem")
    assert "SSL_CERT_FILE does not name" in failure(f"http://{HOST}:1/v1")
    environ["SSL_CERT_FILE"] = str(tmp_path)
    assert "SSL_CERT_FILE does not name" in failure(f"http://{HOST}:1/v1")
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate", encoding="utf-8")
    environ["SSL_CERT_FILE"] = str(nonsense)
    assert "SSL_CERT_FILE does not name" in failure(f"http://{HOST}:1/v1")


def test_a_ca_folder_that_is_missing_is_explained(environ: Environ, tmp_path: Path) -> None:
    del environ["SSL_CERT_FILE"]
    environ["SSL_CERT_DIR"] = str(tmp_path / "missing")
    assert "SSL_CERT_DIR does not name a folder" in failure(f"http://{HOST}:1/v1")


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (KEY + "\n", "line break"),
        ("sk\x00live", "invisible"),
        (" " + KEY, "space at its beginning"),
        ("sk-密钥", "cannot be sent"),
        ("sk-\ud800", "cannot be sent"),
    ],
)
def test_a_key_that_no_header_can_carry_is_explained(key: str, reason: str) -> None:
    sentence = failure(f"http://{HOST}:1/v1", api_key=key)
    assert reason in sentence
    assert "a character no key has" in sentence


def test_a_key_in_latin_1_is_sent_as_it_is() -> None:
    with make_http_client() as client:
        request = build_chat_request(client, "http://h/", api_key="clé", payload={})
    assert isinstance(request, httpx.Request)
    assert (b"Authorization", "Bearer clé".encode("latin-1")) in request.headers.raw


@pytest.fixture
def authority(tmp_path: Path, environ: Environ) -> trustme.CA:
    made = trustme.CA()
    made.cert_pem.write_to_path(str(tmp_path / "company.pem"))
    environ["SSL_CERT_FILE"] = str(tmp_path / "company.pem")
    return made


def test_each_answer_at_a_time_has_a_connection_and_later_ones_use_it() -> None:
    go_on = threading.Event()
    with ChatServer([[delta("a"), WaitForEvent(go_on), *end_reply()]]) as server:
        backend = backend_at(server.url)
        running = [backend.stream(QUESTION, CancelToken()) for _ in range(3)]
        for events in running:
            next(events)
        go_on.set()
        for events in running:
            list(events)
        for _ in range(3):
            ask(backend)
        assert len(server.peers) == 3


def test_after_close_nothing_is_kept() -> None:
    with ChatServer([reply_text("x")]) as server:
        backend = backend_at(server.url)
        ask(backend)
        backend.close()
        ask(backend)
        ask(backend)
        assert len(server.peers) == 3


def test_a_companys_certificate_is_trusted(authority: trustme.CA) -> None:
    tls = server_side(authority.issue_cert(HOST))
    with ChatServer([reply_text("Hello")], tls=tls) as server:
        assert text_of(ask(backend_at(server.url))) == "Hello"


def test_an_unknown_certificate_is_explained(authority: trustme.CA) -> None:
    tls = server_side(trustme.CA().issue_cert(HOST))
    with ChatServer([reply_text("Hello")], tls=tls) as server:
        events, sentence = expect_failure(backend_at(server.url))
    assert events == []
    assert "was issued by nobody this machine trusts" in sentence


def test_a_proxy_is_asked(authority: trustme.CA, environ: Environ) -> None:
    tls = server_side(authority.issue_cert(HOST))
    with proxy() as between, ChatServer([reply_text("Hello")], tls=tls) as server:
        environ["HTTPS_PROXY"] = between.url
        backend = backend_at(server.url)
        assert text_of(ask(backend)) == "Hello"
        backend.close()
        assert between.asked == [f"CONNECT {HOST}:{server.port}"]


def test_an_answer_through_a_socks_proxy_can_be_stopped(environ: Environ) -> None:
    cancel = CancelToken()
    with raw_server(speak_socks) as port, ChatServer([[delta("x"), WaitForDisconnect()]]) as server:
        environ["ALL_PROXY"] = f"socks5://{HOST}:{port}"
        events = backend_at(server.url).stream(QUESTION, cancel)
        next(events)
        cancel.cancel()
        with pytest.raises(Cancelled):
            list(events)
        assert server.received[0].hung_up.wait(60)


def say_hello(http2: Any, stream: int, *, and_hang: bool) -> None:
    http2.send_headers(stream, [(":status", "200"), ("content-type", "text/event-stream")])
    for step in [delta("Hel")] if and_hang else reply_text("Hel", "lo", used=(1, 2)):
        assert isinstance(step, StreamEvent)
        text = step.payload if isinstance(step.payload, str) else json.dumps(step.payload)
        http2.send_data(stream, f"data: {text}\n\n".encode())
    if not and_hang:
        http2.end_stream(stream)


@contextmanager
def http2_server(context: ssl.SSLContext, hang_ups: list[threading.Event]) -> Iterator[int]:
    """Answers "Hello" over HTTP/2, or says "Hel" and hangs if there is an event to tell of it."""
    connection_class = pytest.importorskip("h2.connection").H2Connection
    from h2.config import H2Configuration  # noqa: PLC0415 - only where it is installed
    from h2.events import StreamEnded  # noqa: PLC0415

    context.set_alpn_protocols(["h2", "http/1.1"])

    def behave(plain: socket.socket) -> None:
        with context.wrap_socket(plain, server_side=True) as secure:
            assert secure.selected_alpn_protocol() == "h2"
            http2 = connection_class(H2Configuration(client_side=False))
            http2.initiate_connection()
            secure.sendall(http2.data_to_send())
            while received := secure.recv(65536):
                for event in http2.receive_data(received):
                    if isinstance(event, StreamEnded):
                        say_hello(http2, event.stream_id, and_hang=bool(hang_ups))
                secure.sendall(http2.data_to_send())
        for event in hang_ups:
            event.set()

    with raw_server(behave) as port:
        yield port


needs_http2 = pytest.mark.skipif(not HAS_HTTP2, reason="h2 is not installed")


@needs_http2
def test_http2_is_spoken_where_it_is_offered(authority: trustme.CA) -> None:
    with http2_server(server_side(authority.issue_cert(HOST)), []) as port:
        backend = backend_at(f"https://{HOST}:{port}/v1")
        for _ in range(3):
            events = ask(backend)
            assert text_of(events) == "Hello"
            assert usage_of(events).exact
        backend.close()


@needs_http2
def test_an_answer_over_http2_can_be_stopped(authority: trustme.CA) -> None:
    hung_up = threading.Event()
    cancel = CancelToken()
    with http2_server(server_side(authority.issue_cert(HOST)), [hung_up]) as port:
        events = backend_at(f"https://{HOST}:{port}/v1").stream(QUESTION, cancel)
        next(events)
        cancel.cancel()
        with pytest.raises(Cancelled):
            list(events)
        assert hung_up.wait(60)
