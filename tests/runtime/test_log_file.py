import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.runtime.log_file import ResilientFileHandler, log_to_file
from support.small_disk import small_disk


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


@pytest.mark.slow
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
