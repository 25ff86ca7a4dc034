import threading

import pytest
from codekernel.transport.channels import MemoryChannel
from codekernel.transport.lines import MAX_LINE_BYTES, OversizedLine, SpooledLine

PATIENCE_SECONDS = 10


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
    assert finished.wait(PATIENCE_SECONDS)


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
    assert gone.wait(PATIENCE_SECONDS)
    assert list(channel.iter_sent()) == [b"x" * 100]
