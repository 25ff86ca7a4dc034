"""``codekernel agent --uap`` in a real process."""

import json
import subprocess
from pathlib import Path
from typing import Any

from codekernel.domain.chat import (
    AgentMessage,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
    parse_message,
)
from support.chat_server import ChatServer, delta, end_reply, reply_calls, reply_text
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS
from support.conversation_client import chat_settings
from support.kernel_process import bare_environment


def uap(user_data: Path, folder: Path, *words: str) -> tuple[int, list[AgentMessage], str]:
    done = subprocess.run(
        [*CODEKERNEL, "agent", "--uap", *words],
        capture_output=True,
        env=bare_environment(user_data),
        cwd=folder,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    lines: list[Any] = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    return done.returncode, list(map(parse_message, lines)), done.stderr.decode("utf-8")


SCRIPT = [
    [delta(reasoning_content="想"), *reply_calls(("plan", {"action": "skip"}))],
    reply_text("完", "成"),
]


def test_messages_are_printed_complete(user_data: Path, repo: Path) -> None:
    with ChatServer(SCRIPT) as server:
        chat_settings(user_data, server.url)
        code, messages, stderr = uap(user_data, repo, "go")
    assert code == 0
    assert stderr.startswith("codekernel: session ")
    first, result, last = messages
    assert first.content == (
        ThinkingContent("想"),
        ToolUseContent("call_0", "plan", {"action": "skip"}),
    )
    assert result == AgentMessage("user", (ToolResultContent("call_0", "Planning skipped."),))
    assert last == AgentMessage("assistant", (TextContent("完成"),))


def test_messages_grow_if_requested(user_data: Path, repo: Path) -> None:
    with ChatServer([[delta("He"), delta("llo"), *end_reply()]]) as server:
        chat_settings(user_data, server.url)
        _, messages, _ = uap(user_data, repo, "--partial", "go")
    assert messages[0].meta == {"id": "message_1", "complete": False}
    assert messages[-1] == AgentMessage(
        "assistant", (TextContent("Hello"),), {"id": "message_1", "complete": True}
    )


def test_an_error_is_a_message_too(user_data: Path, repo: Path) -> None:
    for words in (("go",), ("-r", "nothing", "go"), ()):
        code, [message], _ = uap(user_data, repo, *words)
        assert code != 0
        assert message.meta == {"is_error": True}
