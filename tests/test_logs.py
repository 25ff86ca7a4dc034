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
