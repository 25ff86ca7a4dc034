"""100,000 brackets inside of each other, in every way in: an ordinary error, and no traceback."""

import json
import subprocess
from pathlib import Path

import pytest
from support.command_line import CODEKERNEL, PATIENCE_SECONDS
from support.kernel_process import KernelProcess, bare_environment

from kernel.agent.formatted import formatted_result
from kernel.doors.ide.messages import NO_JSON, ToolResult, read_call
from kernel.errors import InvalidSettings, WrongParam
from kernel.protocol import settings_file
from kernel.protocol.history_file import History, UnreadableHistory
from kernel.protocol.journal_line import read_journal_lines
from kernel.protocol.tool_arguments import object_of

DEEP = "[" * 100_000
# Python's own parsers take what lies below their limit, and fail where it is written.
BORDERLINE = range(850, 1000, 10)


def test_the_kernel_answers_deep_lines_and_goes_on(user_data: Path) -> None:
    with KernelProcess(user_data) as kernel:
        kernel.event("ready")
        frame = '{"sessionId":-1,"toMain":true,"callbackId":%d,"isReply":false,"message":%s}'
        for number, depth in enumerate([100_000, *BORDERLINE], start=1):
            message = '{"type":"getRepos","x":' + "[" * depth + "]" * depth + "}"
            kernel.write((frame % (number, message) + "\n").encode())
            reply = kernel.reply_to(number)
            assert reply["status"]["code"] == "WRONG_PARAM", depth
        assert kernel.request("getRepos")["status"]["code"] == "SUCCESS"
        kernel.stop()
        assert "Traceback" not in kernel.log


def test_the_tools_of_an_ide_refuse_them() -> None:
    assert read_call(DEEP) == ToolResult("", success=False, text=NO_JSON)


def test_files_and_arguments_refuse_them() -> None:
    with pytest.raises(InvalidSettings):
        settings_file.parse(DEEP.encode())
    with pytest.raises(UnreadableHistory):
        History.read(DEEP.encode(), 1)
    assert read_journal_lines(DEEP.encode() + b"\n")[0] == []
    with pytest.raises(WrongParam):
        object_of(DEEP)
    assert formatted_result("edit_file", {}, DEEP, success=True)


def test_a_backend_answers_each_line(user_data: Path, repo: Path) -> None:
    lines = ["[" * depth for depth in (100_000, *BORDERLINE)]
    done = run(user_data, repo, lines, "backend", "--stdio", "--root", str(repo))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(BORDERLINE) + 1
    assert "Traceback" not in done.stderr


def run(
    user_data: Path, folder: Path, lines: list[str], *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CODEKERNEL, *words],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        env=bare_environment(user_data),
        cwd=folder,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
