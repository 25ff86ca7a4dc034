"""Clients that find no kernel: one of them starts it, the others wait for that one."""

import subprocess
import sys
from pathlib import Path

import pytest
from codekernel.client.launcher import StartTurn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there each client starts one")

HOLD = """
import sys
from codekernel.client.launcher import StartTurn
turn = StartTurn(sys.argv[1])
turn.try_take()
print("taken", flush=True)
sys.stdin.read()
"""


def test_one_client_at_a_time_has_the_turn(tmp_path: Path) -> None:
    first, second = (StartTurn(str(tmp_path / "turn")) for _ in range(2))
    assert first.try_take()
    assert first.try_take()
    assert not second.try_take()
    first.release()
    assert second.try_take()
    second.release()


def test_the_turn_of_a_client_that_was_killed_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / "turn")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout
    assert holder.stdout.readline() == b"taken\n"
    turn = StartTurn(path)
    assert not turn.try_take()
    holder.kill()
    holder.communicate()
    assert turn.try_take()
    turn.release()


def test_where_no_file_can_be_locked_each_client_has_the_turn(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing" / "turn")
    assert all(StartTurn(missing).try_take() for _ in range(2))
