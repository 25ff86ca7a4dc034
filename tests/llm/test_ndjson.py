import pytest

from kernel.llm.ndjson import JsonLines
from kernel.llm.sse import EventTooLong


def test_lines_come_out_whole_wherever_they_are_cut() -> None:
    body = '{"a": "好"}\r\n\n{"b": 1}\n{"c"'.encode()
    lines = JsonLines()
    found = [line for at in range(len(body)) for line in lines.feed(body[at : at + 1])]
    assert [line.strip() for line in found] == ['{"a": "好"}', '{"b": 1}']
    assert lines.rest() == '{"c"'
    assert lines.rest() is None


def test_a_line_that_does_not_end_is_given_up() -> None:
    with pytest.raises(EventTooLong):
        list(JsonLines(longest_line_bytes=10).feed(b"x" * 11))
