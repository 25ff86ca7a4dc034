import tracemalloc

from codekernel.transport.lines import KEPT_PREFIX_BYTES, LineSplitter, OversizedLine
from hypothesis import given
from hypothesis import strategies as st


def split(content: bytes, sizes: list[int], limit: int) -> list[bytes | OversizedLine]:
    splitter = LineSplitter(limit)
    lines: list[bytes | OversizedLine] = []
    at = 0
    for size in sizes:
        lines += splitter.feed(content[at : at + size])
        at += size
    lines += splitter.feed(content[at:])
    lines += splitter.flush()
    return lines


@given(
    st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)),
    st.lists(st.integers(0, 9)),
)
def test_lines_are_the_same_however_the_bytes_arrive(lines: list[bytes], sizes: list[int]) -> None:
    expected = [line for line in lines if line.strip()]
    assert split(b"\n".join(lines), sizes, limit=100) == expected


def test_a_line_of_exactly_the_limit_passes_and_one_more_byte_does_not() -> None:
    exact, longer = split(b"a" * 10 + b"\n" + b"b" * 11 + b"\n", [3, 4], limit=10)
    assert exact == b"a" * 10
    assert isinstance(longer, OversizedLine)
    assert (longer.prefix, longer.length) == (b"b" * 11, 11)


def test_the_line_after_an_oversized_one_is_whole() -> None:
    content = b"x" * 50 + b"\n" + b'{"a":1}' + b"\n"
    oversized, line = split(content, [20, 20, 20], limit=30)
    assert isinstance(oversized, OversizedLine)
    assert oversized.length == 50
    assert line == b'{"a":1}'


def test_an_oversized_line_is_not_kept_in_memory() -> None:
    splitter = LineSplitter(limit_bytes=1_000_000)
    chunk = b"x" * 65536
    tracemalloc.start()
    for _ in range(1000):
        assert list(splitter.feed(chunk)) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    (line,) = splitter.flush()
    assert isinstance(line, OversizedLine)
    assert line.length == 65_536_000
    assert len(line.prefix) == KEPT_PREFIX_BYTES
    assert peak < 5_000_000
