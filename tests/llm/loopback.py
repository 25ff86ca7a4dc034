"""Small real servers on 127.0.0.1: an HTTP one with prepared replies, a raw one, and a proxy."""

import contextlib
import http.client
import json
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from support.loopback_server import LoopbackServer

HOST = "127.0.0.1"
WAIT_SECONDS = 60


@dataclass
class Reply:
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Seen:
    path: str
    headers: dict[str, str]
    body: str


COMPLETION = Reply(body=json.dumps({"choices": [{"message": {"content": "Hi"}}]}))


class Endpoint:
    """Gives its replies one after the other, the last one for ever, and keeps what it was asked."""

    def __init__(self, port: int, replies: tuple[Reply, ...], scheme: str) -> None:
        self.port = port
        self.url = f"{scheme}://{HOST}:{port}/v1"
        self.seen: list[Seen] = []
        self.on_request: Callable[[Seen], Reply | None] = lambda _: None
        self._replies = list(replies)

    def reply_to(self, seen: Seen) -> Reply:
        self.seen.append(seen)
        prepared = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return self.on_request(seen) or prepared


@contextlib.contextmanager
def endpoint(*replies: Reply, tls: ssl.SSLContext | None = None) -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            reply = served.reply_to(Seen(self.path, dict(self.headers), body))
            _answer(self, reply)

        def log_message(self, *_: object) -> None:
            """Keep the test output quiet."""

    with LoopbackServer((HOST, 0), Handler) as server:
        server.daemon_threads = False
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        served = Endpoint(server.server_address[1], replies or (COMPLETION,), scheme)
        with _running(server):
            yield served


@contextlib.contextmanager
def raw_server(behave: Callable[[socket.socket], None]) -> Iterator[int]:
    """Hand each connection to ``behave``, one after the other; yields the port."""
    with socket.create_server((HOST, 0)) as listener:
        closing = threading.Event()

        def accept() -> None:
            while True:
                connection, _ = listener.accept()
                with connection:
                    if closing.is_set():
                        return
                    with contextlib.suppress(OSError):
                        behave(connection)

        thread = threading.Thread(target=accept, name="raw server")
        thread.start()
        port = listener.getsockname()[1]
        try:
            yield port
        finally:
            closing.set()
            socket.create_connection((HOST, port), timeout=WAIT_SECONDS).close()
            thread.join(WAIT_SECONDS)


def read_request(connection: socket.socket) -> None:
    received = b""
    while b"Hello" not in received:
        part = connection.recv(65536)
        if not part:
            return
        received += part


def wait_for_hang_up(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def reset(connection: socket.socket) -> None:
    """Close with RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@dataclass
class Proxy:
    url: str
    host: str
    asked: list[str] = field(default_factory=list)


@contextlib.contextmanager
def proxy(refusal: Reply | None = None) -> Iterator[Proxy]:
    """Forward plain requests and tunnel CONNECT, or refuse both."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            running.asked.append(f"POST {self.path}")
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if refusal is not None:
                _answer(self, refusal)
                return
            there, _, path = self.path.removeprefix("http://").partition("/")
            onward = http.client.HTTPConnection(there, timeout=WAIT_SECONDS)
            with contextlib.closing(onward):
                onward.request("POST", f"/{path}", body, dict(self.headers))
                answer = onward.getresponse()
                _answer(self, Reply(answer.status, answer.read().decode()))

        def do_CONNECT(self) -> None:
            running.asked.append(f"CONNECT {self.path}")
            if refusal is not None:
                _answer(self, refusal)
                return
            self.send_response(200)
            self.end_headers()
            host, _, port = self.path.partition(":")
            with socket.create_connection((host, int(port)), timeout=WAIT_SECONDS) as onward:
                _relay(self.connection, onward)

        def log_message(self, *_: object) -> None:
            """Keep the test output quiet."""

    with LoopbackServer((HOST, 0), Handler) as server:
        server.daemon_threads = False
        host = f"{HOST}:{server.server_address[1]}"
        running = Proxy(f"http://{host}", host)
        with _running(server):
            yield running


def speak_socks(connection: socket.socket) -> None:
    """Be a SOCKS 5 proxy without a login for one IPv4 connection."""
    methods = connection.recv(2)[1]
    connection.recv(methods)
    connection.sendall(b"\x05\x00")
    connection.recv(4)
    host, port = socket.inet_ntoa(connection.recv(4)), struct.unpack("!H", connection.recv(2))[0]
    with socket.create_connection((host, port)) as target:
        connection.sendall(b"\x05\x00\x00\x01" + bytes(6))
        _relay(connection, target)


def _relay(one: socket.socket, other: socket.socket) -> None:
    while True:
        ready, _, _ = select.select([one, other], [], [], WAIT_SECONDS)
        for source in ready:
            data = source.recv(65536)
            if not data:
                return
            (other if source is one else one).sendall(data)
        if not ready:
            return


def _answer(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    body = reply.body.encode()
    handler.send_response(reply.status)
    for name, value in {"Content-Length": str(len(body)), **reply.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@contextlib.contextmanager
def _running(server: LoopbackServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, name="loopback server")
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(WAIT_SECONDS)
