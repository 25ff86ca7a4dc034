import pytest
from codekernel.llm.http_stream import EventTooLongError, NdjsonDecoder, SseDecoder
from hypothesis import given
from hypothesis import strategies as st


def events(*pieces: bytes) -> list[str]:
    stream = SseDecoder()
    return [data for piece in pieces for data in stream.feed(piece)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\n", ["a"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data: a\r\n\r\n", ["a"]),
        (b"data: a\r\r", ["a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data: a\r\ndata: b\rdata: c\n\n", ["a\nb\nc"]),
        (b": a comment\n\ndata: a\n\n", ["a"]),
        (b":\n:\ndata: a\n:\n\n", ["a"]),
        (b"event: x\nid: 7\nretry: 10\ndata: a\n\n", ["a"]),
        (b"event: only\n\n", []),
        (b"data\n\n", [""]),
        (b"data:\n\n", [""]),
        (b"data\ndata\n\n", ["\n"]),
        (b"unknown: x\ndata: a\n\n", ["a"]),
        (b" data: a\n\n", []),
        (b"Data: a\n\n", []),
        (b"data: a: b\n\n", ["a: b"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", ["a"]),
        (b"\n\n\ndata: a\n\n\n\n", ["a"]),
        (b"data: a\n\ndata: never ended\n", ["a"]),
        ("data: 好 🎉\n\n".encode(), ["好 🎉"]),
        (b"data: \xff\n\n", ["\N{REPLACEMENT CHARACTER}"]),
        ("data: a\u2028b\x0bc\n\n".encode(), ["a\u2028b\x0bc"]),
    ],
)
def test_the_specification_is_followed(body: bytes, expected: list[str]) -> None:
    assert events(body) == expected
    assert events(*(body[at : at + 1] for at in range(len(body)))) == expected


@given(
    st.lists(st.sampled_from(["data: x", "data: é", "data", ":c", "id: 1", "", "data: 🎉"])),
    st.sampled_from(["\n", "\r", "\r\n"]),
    st.data(),
)
def test_where_the_bytes_are_cut_makes_no_difference(
    lines: list[str], end: str, data: st.DataObject
) -> None:
    body = "".join(line + end for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)))))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert events(*pieces) == events(body)


def test_an_event_is_told_as_soon_as_its_blank_line_begins() -> None:
    stream = SseDecoder()
    assert list(stream.feed(b"data: a\r\n\r")) == ["a"]
    assert list(stream.feed(b"\ndata: b\r\n\r\n")) == ["b"]


@pytest.mark.parametrize("body", [b"data: " + b"x" * 100, b"data: xxxxxxxxxx\n" * 10])
def test_an_event_that_does_not_end_is_given_up(body: bytes) -> None:
    with pytest.raises(EventTooLongError):
        list(SseDecoder(max_event_bytes=50).feed(body))


def test_many_small_events_are_never_too_long() -> None:
    stream = SseDecoder(max_event_bytes=50)
    for _ in range(100):
        assert list(stream.feed(b"data: ten bytes!\n\n")) == ["ten bytes!"]


@pytest.mark.parametrize(
    ("body", "rest"),
    [(b"data: [DONE]", "[DONE]"), (b"data: a\n", "a"), (b"data: a\n\n", None), (b"", None)],
)
def test_what_the_end_cut_off_can_be_asked_for(body: bytes, rest: str | None) -> None:
    stream = SseDecoder()
    list(stream.feed(body))
    assert stream.take_rest() == rest


def test_lines_come_out_whole_wherever_they_are_cut() -> None:
    body = '{"a": "好"}\r\n\n{"b": 1}\n{"c"'.encode()
    lines = NdjsonDecoder()
    found = [line for at in range(len(body)) for line in lines.feed(body[at : at + 1])]
    assert [line.strip() for line in found] == ['{"a": "好"}', '{"b": 1}']
    assert lines.take_rest() == '{"c"'
    assert lines.take_rest() is None


def test_a_line_that_does_not_end_is_given_up() -> None:
    with pytest.raises(EventTooLongError):
        list(NdjsonDecoder(max_line_bytes=10).feed(b"x" * 11))
