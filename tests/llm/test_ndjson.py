import pytest
from codekernel.llm.http_stream import EventTooLongError, NdjsonDecoder


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
