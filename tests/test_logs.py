import logging

import pytest

from kernel.logs import RedactingFormatter


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdefghijk",
        "key sk-abcdefghijk refused",
        'body {"api_key": "abcdefghijk"}',
        "apiKey=abcdefghijk&x=1",
    ],
)
def test_what_looks_like_a_key_is_masked(text: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, text, (), None)
    line = RedactingFormatter("%(message)s").format(record)
    assert "abcdefghijk" not in line
    assert "***" in line


def test_a_key_in_a_traceback_is_masked() -> None:
    error = ValueError("Bearer abcdefghijk")
    info = (ValueError, error, None)
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "failed", (), info)
    assert "abcdefghijk" not in RedactingFormatter("%(message)s").format(record)


def test_a_control_sequence_in_a_message_or_a_traceback_is_spelt_out() -> None:
    info = (ValueError, ValueError("\x1b]0;owned\x07 \x9b2J"), None)
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "no \x1b[2J file", (), info)
    line = RedactingFormatter("%(message)s").format(record)
    assert "no \\x1b[2J file\n" in line
    assert not {"\x1b", "\x07", "\x9b"} & set(line)
