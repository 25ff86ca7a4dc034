"""Agents that are registered by a type, with a scripted Ollama on loopback."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from codekernel.adapters.uap.agent_backends import OllamaBackend
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import PermissionPolicy
from codekernel.agent.tools.toolsets import build_agent_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.chat import (
    AgentMessage,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from codekernel.errors import WrongParam
from codekernel.sync.agents import AgentBackend, AgentRegistry, AgentUpdate, BackendPermission
from support.chat_server import (
    NDJSON,
    BodyBytes,
    ChatServer,
    ResponseHead,
    SetEvent,
    Step,
    WaitForDisconnect,
    WholeResponse,
)

CALLED = ("plan", {"action": "skip"})


def ollama(*messages: dict[str, Any]) -> list[Step]:
    """An answer of Ollama: a line for each message, and the last one."""
    lines = [{"message": {"role": "assistant", **message}, "done": False} for message in messages]
    lines.append({"message": {"role": "assistant", "content": ""}, "done": True})
    return [
        ResponseHead(headers=NDJSON),
        *(BodyBytes(json.dumps(line).encode() + b"\n") for line in lines),
    ]


def calling(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    functions = [{"function": {"name": name, "arguments": given}} for name, given in calls]
    return {"content": "", "tool_calls": functions}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([ollama({"content": "ok"})]) as running:
        yield running


@pytest.fixture
def backend(server: ChatServer, repo: Path, tmp_path: Path) -> Iterator[AgentBackend]:
    def open_context(session: str, folder: Path, permissions: PermissionPolicy) -> ToolContext:
        root = WorkspaceRoot.from_path(folder)
        return ToolContext(root, ChangeJournal(tmp_path / session, root), permissions=permissions)

    backends = AgentRegistry()
    backends.register(
        "ollama", lambda: OllamaBackend("qwen3", build_agent_tools(), open_context, url=server.root)
    )
    made = backends.create("ollama")
    made.initialize()
    yield made
    made.disconnect()


def whole(messages: list[AgentUpdate]) -> list[AgentMessage]:
    return [
        message
        for message in messages
        if isinstance(message, AgentMessage) and message.meta.get("complete", True)
    ]


def test_ollamas_stream_becomes_blocks(
    server: ChatServer, backend: AgentBackend, repo: Path
) -> None:
    server._script[:] = [
        ollama({"content": "", "thinking": "Hm."}, calling(CALLED)),
        ollama({"content": "Do"}, {"content": "ne."}),
    ]
    messages: list[AgentUpdate] = []
    backend.prompt(backend.new_session(repo), "go", messages.append)
    first, result, last = whole(messages)
    assert first.content[0] == ThinkingContent("Hm.")
    use = first.content[1]
    assert isinstance(use, ToolUseContent)
    assert (use.name, use.input) == ("plan", {"action": "skip"})
    assert result.content == (ToolResultContent(use.id, "Planning skipped."),)
    assert (result.role, last.role, last.content) == ("user", "assistant", (TextContent("Done."),))
    assert server.received[0].path == "/api/chat"


def test_a_model_without_tools_is_read_by_the_parser(
    server: ChatServer, backend: AgentBackend, repo: Path
) -> None:
    server._script[:] = [
        [WholeResponse(400, {"error": "qwen3 does not support tools"})],
        ollama({"content": "思考: 简单\n执"}, {"content": '行: plan {"action": "skip"}'}),
        ollama({"content": "好了"}),
    ]
    messages: list[AgentUpdate] = []
    backend.prompt(backend.new_session(repo), "go", messages.append)
    first, _, last = whole(messages)
    assert first.content[0] == ThinkingContent("简单")
    assert isinstance(first.content[1], ToolUseContent)
    assert last.content == (TextContent("好了"),)


@pytest.mark.parametrize("allowed", [True, False])
def test_what_is_dangerous_waits_for_a_permission(
    server: ChatServer, backend: AgentBackend, repo: Path, *, allowed: bool
) -> None:
    server._script[:] = [
        ollama(calling(CALLED, ("run_command", {"command": "echo > made"}))),
        ollama({"content": "ok"}),
    ]
    requests: list[BackendPermission] = []

    def respond(request: BackendPermission) -> None:
        requests.append(request)
        backend.respond_to_permission(request.id, allowed=allowed, option_id="")
        backend.respond_to_permission("unknown", allowed=True, option_id="")

    backend.on_permission_request(respond)
    session = backend.new_session(repo)
    backend.prompt(session, "go", lambda _: None)
    assert [(request.session, request.tool) for request in requests] == [(session, "run_command")]
    assert (repo / "made").exists() is allowed


def test_without_anybody_to_ask_it_is_refused(
    server: ChatServer, backend: AgentBackend, repo: Path
) -> None:
    server._script[:] = [
        ollama(calling(CALLED, ("run_command", {"command": "echo > made"}))),
        ollama({"content": "ok"}),
    ]
    backend.prompt(backend.new_session(repo), "go", lambda _: None)
    assert not (repo / "made").exists()


def test_a_prompt_is_cancelled(server: ChatServer, backend: AgentBackend, repo: Path) -> None:
    begun = threading.Event()
    line = json.dumps({"message": {"role": "assistant", "content": "I"}, "done": False})
    server._script[:] = [
        [
            ResponseHead(headers=NDJSON),
            BodyBytes(line.encode() + b"\n"),
            SetEvent(begun),
            WaitForDisconnect(),
        ]
    ]
    session = backend.new_session(repo)
    messages: list[AgentUpdate] = []
    working = threading.Thread(target=backend.prompt, args=(session, "go", messages.append))
    working.start()
    assert begun.wait(60)
    backend.cancel_prompt(session)
    working.join(60)
    assert not working.is_alive()
    last = messages[-1]
    assert isinstance(last, AgentMessage)
    assert last.meta == {"is_error": True}


def _create_nothing() -> NoReturn:
    raise AssertionError("no backend is expected")


def test_an_unknown_type_is_an_error() -> None:
    backends = AgentRegistry()
    with pytest.raises(WrongParam, match="there are: none"):
        backends.create("ollama")
    with pytest.raises(WrongParam, match="needs a name"):
        backends.register(" ", _create_nothing)
    backends.register_backend("ollama", _create_nothing)
    assert backends.kinds == ["ollama"]


def test_an_unknown_session_is_an_error(backend: AgentBackend, repo: Path) -> None:
    with pytest.raises(WrongParam, match="no session"):
        backend.prompt("none", "go", lambda _: None)
    with pytest.raises(WrongParam, match="no text"):
        backend.prompt(backend.new_session(repo), " ", lambda _: None)
