"""100,000 brackets inside of each other, in every way in: an ordinary error, and no traceback."""

import json
import subprocess
from pathlib import Path

import pytest
from codekernel.adapters.ide.tool_calls import INVALID_JSON_TEXT, IdeToolResult, parse_call
from codekernel.agent.tools.call_format import format_tool_result
from codekernel.errors import InvalidSettings, WrongParam
from codekernel.protocol import settings_file
from codekernel.protocol.history_file import (
    ConversationHistory,
    UnreadableHistoryError,
    decode_journal_lines,
)
from codekernel.protocol.tool_schema import parse_json_object
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS
from support.kernel_process import KernelProcess, bare_environment

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
    assert parse_call(DEEP) == IdeToolResult("", success=False, text=INVALID_JSON_TEXT)


def test_files_and_arguments_refuse_them() -> None:
    with pytest.raises(InvalidSettings):
        settings_file.parse_settings(DEEP.encode())
    with pytest.raises(UnreadableHistoryError):
        ConversationHistory.from_bytes(DEEP.encode(), 1)
    assert decode_journal_lines(DEEP.encode() + b"\n")[0] == []
    with pytest.raises(WrongParam):
        parse_json_object(DEEP)
    assert format_tool_result("edit_file", {}, DEEP, success=True)


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
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
