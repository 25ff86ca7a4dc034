"""Ctrl-C at every moment of a command: no traceback, exit code 130, no process left behind."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.command_line import TIMEOUT_SECONDS, Terminal
from support.kernel_process import bare_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals for a group"),
]

INTERRUPTED = 130


def _restore_default_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("words", [("search", "--words", "zeppelin"), ("doctor",), ("eval",)])
@pytest.mark.parametrize("moment", [1, 2, 40, 120, 200])  # after how many imported modules
def test_an_interrupt_while_modules_are_imported_is_quiet(
    user_data: Path, repo: Path, words: tuple[str, ...], moment: int
) -> None:
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "codekernel", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=bare_environment(user_data),
        cwd=repo,
        preexec_fn=_restore_default_sigint,  # noqa: PLW1509 - does nothing that a thread could hold
        process_group=0,
    ) as process:
        assert process.stderr
        lines: list[str] = []
        due: int | None = None
        for line in process.stderr:
            lines.append(line)
            if "| codekernel.cli.main" in line or (due is None and "codekernel.cli.main" in line):
                due = len(lines) + moment
            if len(lines) == due:
                os.killpg(process.pid, signal.SIGINT)
        code = process.wait(TIMEOUT_SECONDS)
    assert due
    if code == INTERRUPTED:
        assert not [line for line in lines if not line.startswith("import time:")]
    else:
        assert len(lines) < due  # it was over before


def parse_percentage(shown: str) -> int:
    return max(map(int, re.findall(r"(\d+)%", shown)), default=-1)


@pytest.mark.parametrize("share", [0, 5, 20])
def test_an_interrupt_while_a_folder_is_indexed_is_quiet_and_ends_the_children(
    user_data: Path, repo: Path, share: int
) -> None:
    # Seconds of work, however quick the machine; how far it is, is said with each commit.
    for number in range(2000):
        code = "".join(f"def zeppelin_{number}_{n}():\n    return {n}\n\n\n" for n in range(80))
        (repo / f"part_{number}.py").write_text(code, encoding="utf-8")
    with Terminal(user_data, repo, "search", "--words", "zeppelin") as terminal:
        terminal.read_until(lambda shown: parse_percentage(shown) >= share)
        children = psutil.Process(terminal.process.pid).children()
        terminal.type("\x03")
        ended, shown = terminal.finish()
    assert ended == INTERRUPTED
    assert "Traceback" not in shown
    assert "KeyboardInterrupt" not in shown
    _, alive = psutil.wait_procs(children, timeout=TIMEOUT_SECONDS)
    assert not alive


def test_web_is_stopped_also_in_the_middle_of_a_line_on_stderr() -> None:
    """A handler that wrote through sys.stderr would fail there, and codekernel with it."""
    program = (
        "import os, signal, sys, threading; from codekernel.cli.commands import web;"
        "stopped = threading.Event();"
        "web._install_signal_handlers(stopped.set); sys.stderr = None;"
        "os.kill(os.getpid(), signal.SIGINT); print(stopped.wait(60))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ended.stdout.split() == [b"True"]
    assert b"stopping" in ended.stderr
