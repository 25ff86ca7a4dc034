from collections.abc import Iterator

from codekernel.client.link_channel import LinkChannel
from codekernel.transport.lines import MAX_IN_MEMORY_BYTES, SpooledLine


class FakeLink:
    """The pieces of a kernel, and what was sent to it."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces
        self.sent: list[bytes] = []

    def iterate_output(self) -> Iterator[bytes]:
        yield from self._pieces

    def send(self, chunk: bytes) -> None:
        self.sent.append(chunk)


def lines(*pieces: bytes) -> list[bytes | SpooledLine]:
    return list(LinkChannel(FakeLink(list(pieces))).iter_sent())  # type: ignore[arg-type]


def test_pieces_are_joined_to_lines() -> None:
    assert lines(b"on", b"e\ntwo\nth", b"", b"ree\n") == [b"one", b"two", b"three"]


def test_a_line_too_long_for_memory_is_spooled() -> None:
    part = b"x" * (MAX_IN_MEMORY_BYTES // 2 + 1)
    first, long, last = lines(b"a\n" + part, part, part + b"\nz\n")
    assert (first, last) == (b"a", b"z")
    assert isinstance(long, SpooledLine)
    assert sum(map(len, long.iter_pieces())) == 3 * len(part)


def test_nothing_is_sent_after_the_end() -> None:
    link = FakeLink([b"one\n"])
    channel = LinkChannel(link)  # type: ignore[arg-type]
    assert channel.post(b"question")
    assert list(channel.iter_sent()) == [b"one"]
    assert not channel.post(b"late")
    assert link.sent == [b"question\n"]
