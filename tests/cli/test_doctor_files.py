"""What doctor says of conversations, sessions and logs."""

import os
import sys
from pathlib import Path

import pytest
from codekernel.cli.commands.doctor import check_installation


def test_a_damaged_conversation_is_named_and_the_exit_code_says_so(
    user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (user_data / "conversations").mkdir()
    (user_data / "conversations" / "conversation-7.json").write_text('{"history": [', "utf-8")
    assert check_installation(str(user_data)) == 1
    assert "PROBLEM: conversations/conversation-7.json" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
def test_fix_moves_a_pipe_in_the_place_of_a_log_aside(
    user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (user_data / "logs").mkdir()
    os.mkfifo(user_data / "logs" / "kernel.log")
    assert check_installation(str(user_data)) == 1
    assert check_installation(str(user_data), fix=True) == 0
    assert not (user_data / "logs" / "kernel.log").exists()
    assert "moved aside: logs/kernel.log.unreadable" in capsys.readouterr().out


def test_files_that_can_be_read_are_said_to_be_well(
    user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_installation(str(user_data)) == 0
    assert "ok: conversations, sessions and logs: all can be read" in capsys.readouterr().out
