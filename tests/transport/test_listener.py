"""The listener under attack: half-open connections, slow ones, and descriptors that run out."""

import contextlib
import errno
import logging
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus

import pytest
from codekernel.transport.connections import HEAD_TIMEOUT_SECONDS, MAX_PENDING_BYTES
from codekernel.transport.http_messages import RequestHead, render_text
from codekernel.transport.listener import HttpListener, open_listening_socket
from support.hostile_connections import open_half_connections, parse_status, send_raw_request

HELLO = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"


class FailingSocket(socket.socket):
    """Refuses to accept for as long as it is told to."""

    failures: list[int]

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            number = self.failures.pop()
            raise OSError(number, errno.errorcode[number])
        return super().accept()


class Served:
    """A listener that admits ``/hello`` and ``/hold``, and counts."""

    def __init__(self, sock: socket.socket) -> None:
        self.port: int = sock.getsockname()[1]
        self.may_end = threading.Event()
        self.listener = HttpListener(sock, self.judge, self.serve, "test")
        self.thread = threading.Thread(target=self.listener.run, daemon=True)
        self.thread.start()

    def judge(self, head: RequestHead) -> bytes | None:
        if head.path == "/fault":
            raise LookupError("a fault of ours")
        known = head.path in {"/hello", "/hold"}
        return None if known else render_text(HTTPStatus.FORBIDDEN, "no")

    def serve(self, sock: socket.socket, head: RequestHead, _: bytes) -> None:
        if head.path == "/hold":
            sock.sendall(b"held")
            self.may_end.wait(60)
        sock.sendall(render_text(HTTPStatus.OK, "hello"))

    def assert_serves(self) -> None:
        """Before a connection that says nothing would be given up, on however busy a machine."""
        began = time.monotonic()
        assert parse_status(send_raw_request(self.port, HELLO)) == 200
        assert time.monotonic() - began < HEAD_TIMEOUT_SECONDS


@pytest.fixture
def served() -> Iterator[Served]:
    running = Served(open_listening_socket("127.0.0.1", 0))
    yield running
    running.may_end.set()
    running.listener.stop()
    assert not running.thread.is_alive()


def test_half_open_connections_are_few_and_an_honest_one_is_served(served: Served) -> None:
    served.listener.pending.max_count = 64
    with open_half_connections(served.port, 400) as opened:
        served.assert_serves()
        assert len(served.listener.pending) <= 64
        closed = sum(_is_closed(each) for each in opened)
        assert closed >= 400 - 64
        assert _is_closed(opened[0])
        assert not _is_closed(opened[396])  # one of the last, which has said nothing
    served.assert_serves()


def test_heads_without_end_take_a_bounded_memory(served: Served) -> None:
    beginning = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 900_000
    with contextlib.ExitStack() as opened:
        for _ in range(MAX_PENDING_BYTES // len(beginning) + 20):
            connection = opened.enter_context(
                socket.create_connection(("127.0.0.1", served.port), timeout=60)
            )
            with contextlib.suppress(ConnectionError):
                connection.sendall(beginning)
        served.assert_serves()
        assert served.listener.pending.received_bytes <= MAX_PENDING_BYTES
    served.assert_serves()


def test_an_admitted_connection_outlives_any_number_of_strangers(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as held:
        held.sendall(b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
        assert held.recv(4) == b"held"
        with open_half_connections(served.port, 3 * served.listener.pending.max_count):
            served.assert_serves()
        served.may_end.set()
        assert parse_status(held.recv(1000)) == 200


def test_a_head_that_comes_byte_by_byte_ends_with_its_time(served: Served) -> None:
    served.listener.pending.head_timeout_seconds = 0.3
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as slow:
        stop = threading.Event()

        def drip() -> None:
            with contextlib.suppress(OSError):
                while not stop.wait(0.02):
                    slow.send(b"x")

        dripping = threading.Thread(target=drip)
        dripping.start()
        with contextlib.suppress(ConnectionResetError):
            assert slow.recv(1) == b""
        stop.set()
        dripping.join()
    served.assert_serves()


def test_a_body_does_not_wait_until_its_head_is_confirmed() -> None:
    with (
        open_listening_socket("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    "number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ECONNABORTED, errno.EPERM]
)
def test_it_goes_on_after_accept_has_failed(number: int) -> None:
    failing = FailingSocket(fileno=open_listening_socket("127.0.0.1", 0).detach())
    failing.failures = [number] * 2
    served = Served(failing)
    served.assert_serves()
    served.listener.stop()


def test_it_recovers_when_descriptors_have_run_out(served: Served) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    client = socket.socket()
    client.settimeout(20)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (client.fileno() + 1, hard))
        client.connect(("127.0.0.1", served.port))
        client.sendall(HELLO)
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(20)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert parse_status(client.recv(1000)) == 200
    client.close()


def test_a_refusal_is_read_though_more_was_sent(served: Served) -> None:
    flood = b"GET /" + b"x" * 3_000_000
    assert parse_status(send_raw_request(served.port, flood)) in {0, 414}
    assert (
        parse_status(send_raw_request(served.port, b"GET /no HTTP/1.1\r\nHost: a\r\n\r\n")) == 403
    )
    served.assert_serves()


def test_one_fault_of_ours_ends_one_connection(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    assert send_raw_request(served.port, b"GET /fault HTTP/1.1\r\nHost: a\r\n\r\n") == b""
    assert "failed to judge" in caplog.text
    served.assert_serves()


def test_a_thousand_malformed_requests_are_one_line_in_the_log(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(200):
        assert parse_status(send_raw_request(served.port, b"\x1b[2J\r\n\r\n")) == 400
    lines = [record for record in caplog.records if "refused" in record.message]
    assert len(lines) == 1
    assert "\x1b" not in caplog.text
    assert not any(record.exc_info for record in caplog.records)


def _is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
