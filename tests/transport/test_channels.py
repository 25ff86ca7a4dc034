import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from codekernel.transport.descriptors import StdioPipe
from codekernel.transport.lines import (
    MAX_BATCHED_WRITE_BYTES,
    MAX_LINE_BYTES,
    MAX_QUEUED_BYTES,
    MemoryChannel,
    OversizedLine,
    SpooledLine,
    StreamChannel,
)
from support.polling import pause

TIMEOUT_SECONDS = 60


@contextmanager
def connected(max_queued_bytes: int = MAX_QUEUED_BYTES) -> Iterator[tuple[StreamChannel, int, int]]:
    """A channel, the descriptor that writes its stdin, and the one that reads its stdout."""
    stdin_read, stdin_write = os.pipe()
    stdout_read, stdout_write = os.pipe()
    open_ends = [stdin_read, stdin_write, stdout_read, stdout_write]
    try:
        pipe = StdioPipe(stdin_read, stdout_write)
        yield StreamChannel(pipe, max_queued_bytes), stdin_write, stdout_read
    finally:
        for descriptor in open_ends:
            try:
                os.close(descriptor)
            except OSError:  # the test closed it
                continue


def unexpected(error: OSError) -> None:
    raise error


def read_until(descriptor: int, ending: bytes) -> bytes:
    content = b""
    while not content.endswith(ending):
        content += os.read(descriptor, 65536)
    return content


def test_lines_sent_from_many_threads_come_out_whole() -> None:
    with connected() as (channel, _, stdout):
        channel.start(unexpected)
        lines = [f"{number}:".encode() + b"x" * (number * 97 % 5000) for number in range(400)]

        def send_all(part: list[bytes]) -> None:
            for line in part:
                channel.send(line)

        threads = [
            threading.Thread(target=send_all, args=(part,))
            for part in (lines[::4], lines[1::4], lines[2::4], lines[3::4])
        ]
        for thread in threads:
            thread.start()
        received = b""
        while received.count(b"\n") < len(lines):
            received += os.read(stdout, 65536)
        assert sorted(received.splitlines()) == sorted(lines)
        assert channel.close(TIMEOUT_SECONDS)


def test_closing_writes_everything_that_was_sent_before() -> None:
    with connected() as (channel, _, stdout):
        for number in range(100):
            channel.send(str(number).encode())
        channel.start(unexpected)
        assert channel.close(TIMEOUT_SECONDS)
        channel.send(b"too late")
        assert read_until(stdout, b"99\n").count(b"\n") == 100


class SlowPipe:
    """Takes each piece only after a while."""

    def __init__(self) -> None:
        self.content = b""

    def read(self, size: int) -> bytes:
        return b"x" * min(0, size)

    def write(self, content: bytes) -> None:
        pause(0.2)
        self.content += content


@pytest.mark.slow
def test_a_peer_that_reads_slowly_is_given_everything_at_the_end() -> None:
    pipe, line = SlowPipe(), b"x" * MAX_BATCHED_WRITE_BYTES
    channel = StreamChannel(pipe)
    for _ in range(10):
        channel.send(line)
    channel.start(unexpected)
    assert channel.close(1.0), "each piece was taken in time, though all of them take longer"
    assert pipe.content == 10 * (line + b"\n")


def test_a_peer_that_reads_nothing_does_not_hold_up_the_end() -> None:
    with connected() as (channel, _, _):
        channel.send(b"x" * MAX_BATCHED_WRITE_BYTES * 2)
        channel.start(lambda _: None)  # the pipe is closed at last
        assert not channel.close(0.1)


def test_a_peer_that_does_not_read_makes_senders_wait_until_it_does() -> None:
    with connected(1000) as (channel, _, stdout):
        channel.start(unexpected)
        finished = threading.Event()

        def flood() -> None:
            for _ in range(300):
                channel.send(b"x" * 1000)
            finished.set()

        threading.Thread(target=flood, daemon=True).start()
        assert not finished.wait(0.2)
        received = 0
        while received < 300 * 1001:
            received += len(os.read(stdout, 65536))
        assert finished.wait(TIMEOUT_SECONDS)
        assert channel.close(TIMEOUT_SECONDS)


def test_a_peer_that_has_gone_is_reported_once_and_later_lines_are_dropped() -> None:
    with connected() as (channel, _, stdout):
        errors: list[OSError] = []
        gone = threading.Event()

        def on_broken(error: OSError) -> None:
            errors.append(error)
            gone.set()

        os.close(stdout)
        channel.start(on_broken)
        channel.send(b"anybody?")
        assert gone.wait(TIMEOUT_SECONDS)
        channel.send(b"nobody")
        assert channel.close(TIMEOUT_SECONDS)
        assert len(errors) == 1


def test_reading_ends_when_the_peer_closes() -> None:
    with connected() as (channel, stdin, _):
        os.write(stdin, b"one\ntw")
        os.write(stdin, b"o\nthree")
        os.close(stdin)
        assert list(channel.iter_lines()) == [b"one", b"two", b"three"]


def test_lines_go_both_ways_in_order_and_end() -> None:
    channel = MemoryChannel()
    assert all(channel.post(line) for line in (b"one", b"two"))
    channel.send(b"three")
    channel.end_input()
    assert list(channel.iter_lines()) == [b"one", b"two"]
    received = channel.iter_sent()
    assert next(received) == b"three"
    assert channel.close(0)
    assert list(received) == []


def test_after_the_end_nothing_is_taken() -> None:
    channel = MemoryChannel()
    channel.close(0)
    assert not channel.post(b"too late")
    channel.send(b"too late")
    assert list(channel.iter_sent()) == []
    assert list(channel.iter_lines()) == []


def test_a_line_longer_than_the_limit_is_cut_like_one_from_a_pipe() -> None:
    channel = MemoryChannel()
    channel.post(b"x" * (MAX_LINE_BYTES + 1))
    channel.end_input()
    (line,) = channel.iter_lines()
    assert isinstance(line, OversizedLine)
    assert line.length == MAX_LINE_BYTES + 1


def test_a_long_line_passes_as_it_is() -> None:
    channel = MemoryChannel()
    channel.send(SpooledLine([b"some", b"thing"]))
    (line,) = [next(channel.iter_sent())]
    assert isinstance(line, SpooledLine)
    assert b"".join(line.iter_pieces()) == b"something"


@pytest.mark.parametrize("direction", ["send", "post"])
def test_a_side_that_does_not_read_makes_the_other_wait(direction: str) -> None:
    channel = MemoryChannel(1000)
    put = channel.send if direction == "send" else channel.post
    finished = threading.Event()

    def flood() -> None:
        for _ in range(100):
            put(b"x" * 100)
        finished.set()

    threading.Thread(target=flood, daemon=True).start()
    assert not finished.wait(0.2)
    reading = channel.iter_sent() if direction == "send" else channel.iter_lines()
    for _ in range(100):
        next(reading)
    assert finished.wait(TIMEOUT_SECONDS)


def test_what_is_urgent_never_waits() -> None:
    channel = MemoryChannel(10)
    assert all(channel.post(b"x" * 100, urgent=True) for _ in range(10))


def test_whoever_waits_is_let_go_when_it_closes() -> None:
    channel = MemoryChannel(10)
    channel.send(b"x" * 100)
    gone = threading.Event()

    def send_more() -> None:
        channel.send(b"more")
        gone.set()

    threading.Thread(target=send_more, daemon=True).start()
    assert not gone.wait(0.1)
    assert not channel.close(0.1), "what was sent before is still there"
    assert gone.wait(TIMEOUT_SECONDS)
    assert list(channel.iter_sent()) == [b"x" * 100]
