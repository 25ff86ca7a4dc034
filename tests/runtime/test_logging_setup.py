import logging
import subprocess
import sys

import pytest
from codekernel.runtime.logging_setup import RedactingFormatter


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


@pytest.mark.parametrize(
    "secret",
    ["SG." + "a1B2c3D4e5" * 2 + "xy." + "Q7w8E9r0T1" * 4 + "abc", "dop_v1_" + "0a1b2c3d" * 8],
)
def test_a_key_of_a_known_shape_is_masked_wherever_it_stands(secret: str) -> None:
    text = f"POST https://h.example/?x={secret} failed: {secret!r}"
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, text, (), None)
    assert secret not in RedactingFormatter("%(message)s").format(record)


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


def test_an_ordinary_line_does_not_load_the_rules_of_secrets() -> None:
    """They take 10 ms, which whoever opens a repository would wait for."""
    program = (
        "import logging, sys; from codekernel.runtime.logging_setup import RedactingFormatter;"
        "record = logging.LogRecord('codekernel.runtime.workspaces', 20, 'x.py', 1,"
        " 'opened the workspace of demo', (), None);"
        "print(RedactingFormatter('%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s')"
        ".format(record)); print('codekernel.masking.masker' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ended.stdout.decode().splitlines()[-1] == "False"
