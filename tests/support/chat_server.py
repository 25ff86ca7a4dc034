"""A chat server on loopback that follows a script: each request gets the next answer of it.

    with ChatServer([reply_text("Hello", " world", used=(9, 2))]) as server:
        ...  # ask at server.url; then look at server.received

An answer is a list of steps, or a function that makes one from the request. The last answer of the
script is repeated. Usable without pytest, so that benchmarks can run it too:
``python tests/support/chat_server.py --tokens 200 --rate 200`` prints its url and serves until its
standard input ends.
"""

import argparse
import contextlib
import json
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

from support.loopback_server import LoopbackServer

HOST = "127.0.0.1"
TIMEOUT_SECONDS = 60.0
EVENT_STREAM = {"Content-Type": "text/event-stream"}
NDJSON = {"Content-Type": "application/x-ndjson"}
FRAME = 65536


@dataclass(frozen=True)
class WholeResponse:
    """A complete answer with a Content-Length; a body that is no text is sent as JSON."""

    status: int = 200
    body: object = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResponseHead:
    """The head of a chunked answer; without it, the first piece starts a 200 event stream."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: dict(EVENT_STREAM))


@dataclass(frozen=True)
class StreamEvent:
    """One event of a stream: a text as it is, anything else as JSON."""

    payload: object


@dataclass(frozen=True)
class TimestampDelta:
    """A delta whose content is the moment it was sent: ``time.monotonic_ns()`` and a space."""


@dataclass(frozen=True)
class BodyBytes:
    """Bytes of the body, as one chunk."""

    content: bytes


@dataclass(frozen=True)
class SocketBytes:
    """Bytes for the socket itself, with no framing around them."""

    content: bytes


@dataclass(frozen=True)
class Delay:
    """Wait until so long after the end of the previous delay, so that many give an even rate."""

    seconds: float


@dataclass(frozen=True)
class WaitForEvent:
    """Wait until a test sets the event."""

    event: threading.Event


@dataclass(frozen=True)
class SetEvent:
    """Set the event when the script has come this far."""

    event: threading.Event


@dataclass(frozen=True)
class WaitForDisconnect:
    """Send nothing more until the client disconnects."""


@dataclass(frozen=True)
class ResetConnection:
    """End the connection with RST."""


@dataclass(frozen=True)
class CloseConnection:
    """End the connection with FIN, without an end of the body."""


Step = (
    WholeResponse
    | ResponseHead
    | StreamEvent
    | TimestampDelta
    | BodyBytes
    | SocketBytes
    | Delay
    | WaitForEvent
    | SetEvent
    | WaitForDisconnect
    | ResetConnection
    | CloseConnection
)
Answer = Iterable[Step]


@dataclass(frozen=True)
class ReceivedRequest:
    """A request, and whether its client later hung up while the server kept silent."""

    path: str
    headers: dict[str, str]
    body: bytes
    hung_up: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


ScriptedAnswer = Answer | Callable[[ReceivedRequest], Answer]


def delta(
    content: object = None, *, finish_reason: str | None = None, **fields: object
) -> StreamEvent:
    """One chunk of a chat completion."""
    message = ({} if content is None else {"content": content}) | fields
    choice = {"index": 0, "delta": message, "finish_reason": finish_reason}
    return StreamEvent({"object": "chat.completion.chunk", "choices": [choice]})


def usage(prompt_tokens: int, completion_tokens: int) -> StreamEvent:
    """The chunk that include_usage asks for: no choices, only the count."""
    counted = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    return StreamEvent({"object": "chat.completion.chunk", "choices": [], "usage": counted})


DONE = StreamEvent("[DONE]")


def end_reply(reason: str = "stop", used: tuple[int, int] | None = None) -> list[Step]:
    """The last events of a stream."""
    counted = [usage(*used)] if used else []
    return [delta(finish_reason=reason), *counted, DONE]


def reply_text(*pieces: str, used: tuple[int, int] | None = None) -> list[Step]:
    """A whole answer in these pieces."""
    return [*(delta(piece) for piece in pieces), *end_reply(used=used)]


def reply_calls(*calls: tuple[str, object], used: tuple[int, int] | None = None) -> list[Step]:
    """A whole answer that calls tools; arguments are a text as it is, or a value for JSON."""
    steps: list[Step] = []
    for index, (name, arguments) in enumerate(calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        half = len(text) // 2
        first = {"name": name, "arguments": text[:half]}
        head = {"index": index, "id": f"call_{index}", "type": "function", "function": first}
        tail = {"index": index, "function": {"arguments": text[half:]}}
        steps += [delta(tool_calls=[head]), delta(tool_calls=[tail])]
    return [*steps, *end_reply("tool_calls", used)]


def reply_error(
    status: int, message: str = "", *, headers: dict[str, str] | None = None
) -> list[Step]:
    """An error with a message, as OpenAI-compatible servers write it."""
    return [WholeResponse(status, {"error": {"message": message}}, headers or {})]


class ChatServer:
    """Serves from the moment it is entered; ``received`` is what it was asked, in order."""

    def __init__(
        self, script: Iterable[ScriptedAnswer] = (), *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.received: list[ReceivedRequest] = []
        self.models: list[str] = []  # what it lists at /models
        self.peers: list[object] = []  # who connected, in order
        self._script: list[ScriptedAnswer] = list(script)
        self._arrived = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._server = _Listener((HOST, 0), _Handler)
        self._server.owner = self
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self.root = f"{'http' if tls is None else 'https'}://{HOST}:{self.port}"
        self.url = f"{self.root}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, name="chat server")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.closing.set()
        self._server.shutdown()
        self._thread.join(TIMEOUT_SECONDS)
        with self._arrived:
            open_ones = list(self._connections)
        for connection in open_ones:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()  # joins the threads of the connections

    def extend_script(self, *answers: ScriptedAnswer) -> None:
        """Add to the script."""
        with self._arrived:
            self._script += answers

    def wait_for_request(self, number: int = 1) -> ReceivedRequest:
        """Return the request of this number, counted from 1, as soon as it is here."""
        with self._arrived:
            arrived = self._arrived.wait_for(lambda: len(self.received) >= number, TIMEOUT_SECONDS)
            assert arrived, f"request {number} never came"
            return self.received[number - 1]

    def connected(self, connection: socket.socket) -> None:
        with self._arrived:
            self._connections.add(connection)
            self.peers.append(connection.getpeername())

    def disconnected(self, connection: socket.socket) -> None:
        with self._arrived:
            self._connections.discard(connection)

    def take_answer(self, received: ReceivedRequest) -> Answer:
        with self._arrived:
            self.received.append(received)
            self._arrived.notify_all()
            scripted = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        return scripted(received) if callable(scripted) else scripted


class _Listener(LoopbackServer):
    owner: ChatServer
    daemon_threads = False

    def __init__(self, *arguments: Any) -> None:
        self.closing = threading.Event()
        super().__init__(*arguments)

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that went away; anything else belongs on the screen."""
        if not isinstance(sys.exc_info()[1], OSError):
            sys.excepthook(*sys.exc_info())


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        self.server.owner.connected(self.connection)
        try:
            super().handle()
        finally:
            self.server.owner.disconnected(self.connection)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received = ReceivedRequest(self.path, dict(self.headers), body)
        answer = self.server.owner.take_answer(received)
        self._started = False
        self._due = time.monotonic()
        for step in answer:
            if self.server.closing.is_set() or not self._follow(step, received):
                self.close_connection = True
                return
        if self._started:
            self._write(b"0\r\n\r\n")

    def do_GET(self) -> None:
        if self.path.endswith("/models") and self.server.owner.models:
            listed = [{"id": name, "object": "model"} for name in self.server.owner.models]
            self._whole(WholeResponse(200, {"object": "list", "data": listed}))
            return
        self._whole(WholeResponse(404, {"error": "not scripted"}))

    def _follow(self, step: Step, received: ReceivedRequest) -> bool:  # noqa: C901, PLR0912 - a table
        """Take one step; false if nothing can come after it."""
        match step:
            case WholeResponse():
                self._whole(step)
            case ResponseHead(status, headers):
                self._start(status, headers)
            case StreamEvent(payload):
                self._piece(_event(payload))
            case TimestampDelta():
                self._piece(_event(delta(f"{time.monotonic_ns()} ").payload))
            case BodyBytes(content):
                self._piece(content)
            case SocketBytes(content):
                self._write(content)
            case Delay(seconds):
                self._due = max(self._due, time.monotonic() - seconds) + seconds
                self.server.closing.wait(max(0.0, self._due - time.monotonic()))
            case WaitForEvent(event):
                while not event.wait(0.02) and not self.server.closing.is_set():
                    pass
            case SetEvent(event):
                event.set()
            case WaitForDisconnect():
                with contextlib.suppress(OSError):
                    while self.connection.recv(FRAME):
                        pass
                received.hung_up.set()
                return False
            case ResetConnection():
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                socket.close(self.connection.detach())
                return False
            case CloseConnection():
                return False
        return True

    def _whole(self, step: WholeResponse) -> None:
        if isinstance(step.body, bytes):
            body = step.body
        else:
            body = (step.body if isinstance(step.body, str) else json.dumps(step.body)).encode()
        kind = {} if "Content-Type" in step.headers else {"Content-Type": "application/json"}
        self.send_response(step.status)
        for name, value in {"Content-Length": str(len(body)), **kind, **step.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self._write(body)

    def _start(self, status: int, headers: dict[str, str]) -> None:
        self._started = True
        self.send_response(status)
        for name, value in {"Transfer-Encoding": "chunked", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _piece(self, content: bytes) -> None:
        if not self._started:
            self._start(200, EVENT_STREAM)
        self._write(b"%x\r\n%b\r\n" % (len(content), content))

    def _write(self, content: bytes) -> None:
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


def _event(payload: object) -> bytes:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return f"data: {text}\n\n".encode()


def reply_at_rate(tokens: int, tokens_per_second: float) -> list[Step]:
    """An answer of stamped deltas at an even pace."""
    return [
        *(step for _ in range(tokens) for step in (Delay(1 / tokens_per_second), TimestampDelta())),
        *end_reply(used=(10, tokens)),
    ]


def main() -> None:
    """Serve paced answers until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rate", type=float, default=200.0)
    chosen = parser.parse_args()
    with ChatServer([reply_at_rate(chosen.tokens, chosen.rate)]) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
