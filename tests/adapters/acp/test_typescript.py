"""Both of our sides against peers on the official TypeScript SDK of ACP."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.acp.backend import AcpBackend
from codekernel.adapters.acp.turn_changes import TurnRecorder
from codekernel.domain.agent_sessions import PlanEntry
from codekernel.domain.chat import AgentMessage
from codekernel.domain.settings import AgentCommand
from codekernel.sync.agents import AgentUpdate, BackendPermission, PlanUpdated
from support.javascript import ACP_PEERS, require_acp_peers


@pytest.fixture
def backend(user_data: Path) -> Iterator[AcpBackend]:
    require_acp_peers()
    node = str(shutil.which("node"))
    command = AgentCommand("typescript", node, (str(ACP_PEERS / "agent.mjs"),))
    opened = AcpBackend(command, TurnRecorder(user_data))
    yield opened
    opened.disconnect()


def list_blocks(updates: list[AgentUpdate]) -> list[dict[str, Any]]:
    messages = [it for it in updates if isinstance(it, AgentMessage)]
    return [
        block.to_json() for it in messages if it.meta.get("complete", True) for block in it.content
    ]


@pytest.mark.parametrize("allowed", [True, False])
def test_our_client_drives_an_agent_of_the_typescript_sdk(
    backend: AcpBackend, repo: Path, *, allowed: bool
) -> None:
    asked: list[BackendPermission] = []

    def answer(permission: BackendPermission) -> None:
        asked.append(permission)
        backend.respond_to_permission(permission.id, allowed=allowed, option_id="")

    backend.on_permission_request(answer)
    updates: list[AgentUpdate] = []
    assert backend.prompt(backend.new_session(repo), "go", updates.append) == "end_turn"
    thinking, text, use, result = list_blocks(updates)
    assert thinking["thinking"] == "let me see"
    assert text["text"] == "Hello there"
    assert use["name"] == "edit"
    assert use["input"] == {"path": "a.txt", "title": "Edit a.txt"}
    assert result.get("is_error", False) is not allowed
    assert "-one\n+two\n" in result["diff"]
    assert "-one\n+two\n" in asked[0].arguments["diff"]
    assert PlanUpdated((PlanEntry("edit", "in_progress"),)) in updates


def test_our_client_cancels_an_agent_of_the_typescript_sdk(backend: AcpBackend, repo: Path) -> None:
    name = backend.new_session(repo)
    stop = threading.Event()

    def note(_: AgentUpdate) -> None:
        if not stop.is_set():
            stop.set()
            backend.cancel_prompt(name)

    assert backend.prompt(name, "wait", note) == "cancelled"


def test_our_client_loads_a_session_of_the_typescript_sdk(backend: AcpBackend, repo: Path) -> None:
    assert backend.load_session("typescript-1", repo)
