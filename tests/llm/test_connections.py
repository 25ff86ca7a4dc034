"""Connections are kept, shared by nobody, and speak HTTP/2 where the server offers it."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.llm.http_client import HAS_HTTP2
from llm.chatting import QUESTION, ask, backend_at, failing, text_of, usage_of
from llm.loopback import HOST, proxy, raw_server, speak_socks
from llm.test_secure_connection import server_side
from support.chat_server import ChatServer, Hang, Wait, delta, ended, said


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    made = trustme.CA()
    made.cert_pem.write_to_path(str(tmp_path / "company.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "company.pem"))
    return made


def test_each_answer_at_a_time_has_a_connection_and_later_ones_use_it() -> None:
    go_on = threading.Event()
    with ChatServer([[delta("a"), Wait(go_on), *ended()]]) as server:
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
    with ChatServer([said("x")]) as server:
        backend = backend_at(server.url)
        ask(backend)
        backend.close()
        ask(backend)
        ask(backend)
        assert len(server.peers) == 3


def test_a_companys_certificate_is_trusted(authority: trustme.CA) -> None:
    tls = server_side(authority.issue_cert(HOST))
    with ChatServer([said("Hello")], tls=tls) as server:
        assert text_of(ask(backend_at(server.url))) == "Hello"


def test_an_unknown_certificate_is_explained(authority: trustme.CA) -> None:
    tls = server_side(trustme.CA().issue_cert(HOST))
    with ChatServer([said("Hello")], tls=tls) as server:
        events, sentence = failing(backend_at(server.url))
    assert events == []
    assert "was issued by nobody this machine trusts" in sentence


def test_a_proxy_is_asked(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = server_side(authority.issue_cert(HOST))
    with proxy() as between, ChatServer([said("Hello")], tls=tls) as server:
        monkeypatch.setenv("HTTPS_PROXY", between.url)
        backend = backend_at(server.url)
        assert text_of(ask(backend)) == "Hello"
        backend.close()
        assert between.asked == [f"CONNECT {HOST}:{server.port}"]


def test_an_answer_through_a_socks_proxy_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    cancel = CancelToken()
    with raw_server(speak_socks) as port, ChatServer([[delta("x"), Hang()]]) as server:
        monkeypatch.setenv("ALL_PROXY", f"socks5://{HOST}:{port}")
        events = backend_at(server.url).stream(QUESTION, cancel)
        next(events)
        cancel.cancel()
        with pytest.raises(Cancelled):
            list(events)
        assert server.received[0].hung_up.wait(10)


def say_hello(http2: Any, stream: int, *, and_hang: bool) -> None:
    http2.send_headers(stream, [(":status", "200"), ("content-type", "text/event-stream")])
    for step in [delta("Hel")] if and_hang else said("Hel", "lo", used=(1, 2)):
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
        assert hung_up.wait(10)
