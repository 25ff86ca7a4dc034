import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.runtime.logging_setup import RedactingFormatter, ResilientFileHandler, log_to_file
from support.small_disk import small_disk


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


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    root.setLevel(logging.INFO)
    yield root
    root.setLevel(level)
    for handler in [each for each in root.handlers if each not in before]:
        handler.close()
        root.removeHandler(handler)


def test_a_full_disk_is_said_once_and_logging_goes_on_by_itself(
    tmp_path: Path, root_logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(tmp_path / "disk", 200_000) as disk:
        log_to_file(disk.place / "logs")
        root_logger.info("before")
        disk.fill()
        for number in range(300):
            root_logger.info("lost %d %s", number, "x" * 100)
        assert capsys.readouterr().err.count("\n") == 1
        disk.free()
        root_logger.info("after")
        lines = (disk.place / "logs" / "kernel.log").read_text(encoding="utf-8")
        assert "before" in lines
        assert lines.endswith("after\n")
        _close(root_logger)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
def test_what_is_no_file_in_the_place_of_the_log_is_set_aside(
    tmp_path: Path, root_logger: logging.Logger, kind: str
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    if kind == "pipe":
        os.mkfifo(logs / "kernel.log")
    elif kind == "folder":
        (logs / "kernel.log").mkdir()
    else:
        (logs / "kernel.log").symlink_to("kernel.log")
    log_to_file(logs)
    root_logger.info("written")
    assert "written" in (logs / "kernel.log").read_text(encoding="utf-8")
    assert len(list(logs.glob("kernel.log.unreadable-*"))) == 1


def test_a_file_in_the_place_of_the_folder_of_logs_is_set_aside(
    tmp_path: Path, root_logger: logging.Logger
) -> None:
    (tmp_path / "logs").write_text("mine", encoding="utf-8")
    log_to_file(tmp_path / "logs")
    root_logger.info("written")
    assert "written" in (tmp_path / "logs" / "kernel.log").read_text(encoding="utf-8")
    (aside,) = tmp_path.glob("logs.unreadable-*")
    assert aside.read_text(encoding="utf-8") == "mine"


def _close(root: logging.Logger) -> None:
    for handler in root.handlers:
        if isinstance(handler, ResilientFileHandler):
            handler.close()


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
