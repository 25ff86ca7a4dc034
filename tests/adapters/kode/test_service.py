"""The service with a turn of the test's own, for clients that are slower than a test may be."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from codekernel.adapters.kode import service
from codekernel.adapters.kode.chat_request import KodeChatRequest
from codekernel.adapters.kode.service import KodeService, ServedTurn
from codekernel.adapters.kode.stream import StreamedEvent
from codekernel.domain.turn_events import (
    AgentSessionOpened,
    AgentTextDelta,
    RoundStarted,
    TurnFailed,
)
from codekernel.errors import KernelError
from support.hostile_connections import send_raw_request

TIMEOUT_SECONDS = 60
SECRET = "a secret"
LONG_TEXT = "x" * 1_000_000


class EndlessTurn:
    """Speaks at length until it is stopped."""

    def __init__(self) -> None:
        self.stopped, self.ended = threading.Event(), threading.Event()

    def events(self) -> Iterator[StreamedEvent]:
        yield AgentSessionOpened("0123abcd")
        while not self.stopped.is_set():
            yield AgentTextDelta(LONG_TEXT)
            yield RoundStarted(1)
        yield TurnFailed(KernelError.code, "stopped")
        self.ended.set()

    @contextmanager
    def begin(self, request: KodeChatRequest) -> Iterator[ServedTurn]:
        yield ServedTurn("demo", request.agent_id == "", self.events(), self.stopped.set)


@contextmanager
def serving(
    begin: Any, send_timeout_seconds: float = service.SEND_TIMEOUT_SECONDS
) -> Iterator[int]:
    running = KodeService(0, SECRET, begin)
    running.send_timeout_seconds = send_timeout_seconds
    thread = threading.Thread(target=running.serve, daemon=True)
    thread.start()
    try:
        yield running.port
    finally:
        running.stop()
        thread.join(TIMEOUT_SECONDS)


def chat(port: int, message: str = "go") -> bytes:
    body = json.dumps({"message": message}).encode()
    return (
        f"POST /api/chat/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-API-Key: {SECRET}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def test_a_client_that_never_reads_stops_its_turn() -> None:
    turn = EndlessTurn()
    with serving(turn.begin, 0.2) as port, socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(chat(port))
        assert turn.stopped.wait(TIMEOUT_SECONDS)
        assert turn.ended.wait(TIMEOUT_SECONDS)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KernelError("It broke."), b"It broke."),
        (RuntimeError("a secret"), b"The agent stopped unexpectedly (RuntimeError)."),
    ],
)
@pytest.mark.parametrize("breaks_early", [True, False])
def test_a_turn_that_breaks_is_told_and_frees_its_place(
    error: Exception, message: bytes, *, breaks_early: bool
) -> None:
    def events() -> Iterator[StreamedEvent]:
        yield AgentSessionOpened("0123abcd")
        raise error

    @contextmanager
    def begin(_: KodeChatRequest) -> Iterator[ServedTurn]:
        if breaks_early:
            raise error
        yield ServedTurn("demo", is_new_session=True, events=events(), stop=lambda: None)

    with serving(begin) as port:
        for _ in range(service.MAX_RUNNING_TURNS + 1):
            answered = send_raw_request(port, chat(port))
            assert answered.count(b'"type":"start"') == 1
            assert answered.count(b'"message":"%b"' % message) == 1
            assert b"a secret" not in answered
            assert answered.endswith(b"0\r\n\r\n")
