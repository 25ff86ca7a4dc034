"""A foreign agent of the settings in the kernel's sessions: run, asked, undone, and killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.kernel_requests import KernelRequests
from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    Device,
    NewMessage,
    NewSession,
    PermissionAnswer,
    PermissionMode,
)
from codekernel.domain.chat import TextContent, ToolResultContent
from codekernel.domain.settings import OWN_AGENT
from support.command_line import CODEKERNEL
from support.editor_world import Editor, EditorWorld
from support.kernel_process import bare_environment
from support.polling import wait_until
from support.shared_kernel import ENVIRON, SharedKernel, is_running, set_variables

AGENT = Path(__file__).parent / "scripted_agent.py"
ADA = Actor(Device.PAGE, "Ada")
PATIENCE_SECONDS = 100


class ForeignWorld:
    """A kernel whose settings name the scripted agent, and a device."""

    def __init__(self, user_data: Path, repo: Path, sessions: RemoteAgentSessions) -> None:
        self.user_data, self.repo, self.sessions = user_data, repo, sessions

    def start(self, mode: PermissionMode = PermissionMode.ASK) -> str:
        new = NewSession(str(self.repo), ADA, "scripted", permission_mode=mode)
        return self.sessions.start_session(new).id

    def run(self, session: str, text: str) -> str:
        """Send a message and return what was answered since."""
        first = self.sessions.get_session(session).last_seq
        self.sessions.send_message(session, NewMessage(text, ADA))
        wait_until(lambda: self.is_idle(session))
        page = self.sessions.read_messages(session, after_seq=first + 1)
        blocks = [block for each in page.messages for block in each.message.content]
        return "\n".join(
            block.text for block in blocks if isinstance(block, TextContent | ToolResultContent)
        )

    def is_idle(self, session: str) -> bool:
        record = self.sessions.get_session(session)
        return not record.is_thinking and not record.queued_count

    def wait_for_permission(self, session: str) -> AgentSessionRecord:
        wait_until(lambda: self.sessions.get_session(session).pending_permissions)
        return self.sessions.get_session(session)


@pytest.fixture
def world(user_data: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForeignWorld]:
    set_variables(monkeypatch, {**bare_environment(user_data), **ENVIRON})
    agent = {"name": "scripted", "command": sys.executable, "args": [str(AGENT)]}
    missing = {"name": "missing", "command": "no-such-agent"}
    settings = json.dumps({"agents": [agent, missing]})
    (user_data / "settings.json").write_text(settings, encoding="utf-8")
    (repo / "a.txt").write_text("1\n", encoding="utf-8")
    with (
        SharedKernel(user_data),
        closing(RemoteAgentSessions(KernelRequests(user_data, "test"))) as sessions,
    ):
        yield ForeignWorld(user_data, repo, sessions)


def test_the_agents_of_the_settings_are_listed(world: ForeignWorld) -> None:
    kinds = {kind.name: kind for kind in world.sessions.get_machine().agents}
    assert list(kinds) == [OWN_AGENT, "scripted", "missing"]
    assert kinds["scripted"].unavailable == ""
    assert "no-such-agent" in kinds["missing"].unavailable


def test_a_turn_is_run_with_our_mcp_server_at_hand(world: ForeignWorld) -> None:
    session = world.start()
    assert world.run(session, "say:hello") == "hello"
    (server,) = json.loads(world.run(session, "mcp"))
    done = subprocess.run(
        [server["command"], *server["args"]],
        input=b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
        b'"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n',
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == OWN_AGENT


def test_a_permission_is_answered_by_any_device(world: ForeignWorld) -> None:
    session = world.start()
    world.sessions.send_message(session, NewMessage("ask", ADA))
    (waiting,) = world.wait_for_permission(session).pending_permissions
    assert [option.id for option in waiting.options] == ["yes", "always", "no"]
    phone = PermissionAnswer(allowed=True, actor=Actor(Device.TELEGRAM, "Bo"), option_id="always")
    world.sessions.answer_permission(session, waiting.id, phone)
    wait_until(lambda: world.is_idle(session))
    page = world.sessions.read_messages(session)
    assert any("chosen=always" in str(each.message) for each in page.messages)


def test_a_session_that_only_reads_refuses_the_rest_by_itself(world: ForeignWorld) -> None:
    session = world.start(PermissionMode.READ_ONLY)
    assert "chosen=no" in world.run(session, "ask")


def test_what_the_agent_changed_is_undone_by_the_command(world: ForeignWorld) -> None:
    session = world.start()
    said = world.run(session, "write:a.txt=2 write:b.txt=3")
    name = said.rpartition("codekernel agent --undo ")[2].split()[0]
    done = subprocess.run(
        [*CODEKERNEL, "agent", "--undo", name],
        cwd=world.repo,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert (world.repo / "a.txt").read_text() == "1\n"
    assert not (world.repo / "b.txt").exists()


def test_an_agent_that_is_killed_is_told_and_the_next_message_goes_on(world: ForeignWorld) -> None:
    session, other = world.start(), world.start()
    assert "killed by signal 9" in world.run(session, "say:x die")
    assert world.run(other, "say:calm") == "calm"
    assert world.run(session, "say:again") == "again"


def test_a_kernel_that_is_killed_leaves_no_agent_behind(world: ForeignWorld) -> None:
    session = world.start()
    child = int(world.run(session, "child").removeprefix("child="))
    kernel = world.sessions.get_machine().details["pid"]
    (agent,) = [each.pid for each in psutil.Process(kernel).children()]
    os.kill(kernel, signal.SIGKILL)
    wait_until(lambda: not is_running(agent))
    os.kill(child, signal.SIGKILL)  # what an agent has started is its own to end
    assert world.run(session, "say:again") == "again"


def test_an_editor_uses_a_foreign_agent_of_the_settings(world: ForeignWorld) -> None:
    editors = EditorWorld(world.user_data, world.repo, "--agent", "scripted")

    async def use(editor: Editor) -> None:
        session = await editors.start(editor)
        assert await editor.prompt(session, "ask write:b.txt=3 say:bye") == "end_turn"
        assert [it.option_id for it in editor.offered[0]] == ["yes", "always", "no"]
        assert "chosen=yes" in editor.text()
        titles = [getattr(it, "title", "") for it in editor.updates]
        assert "changes: ['b.txt (created)']" in titles

    editors.use(use)


def test_nothing_of_the_sdk_is_imported_before_an_agent_is_used() -> None:
    code = (
        "import sys, codekernel.app, codekernel.sync.kernel_agents;"
        "print([name for name in ('acp', 'pydantic', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "[]"
