"""Editors that use ``codekernel acp``: on the official Python SDK, and on the TypeScript one."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from acp import Client, schema, spawn_agent_process, text_block
from acp.core import ClientSideConnection
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.kernel_requests import KernelRequests

from support.javascript import ACP_PEERS, require_acp_peers
from support.kernel_process import bare_environment
from support.shared_kernel import ENVIRON, SharedKernel

PATIENCE_SECONDS = 100

Step = list[Any]
BEGIN: tuple[Step, ...] = (
    ["initialize", {"protocolVersion": 1, "clientCapabilities": {}}],
    ["session/new", {"cwd": "$REPO", "mcpServers": []}],
)


def prompt_step(text: str) -> Step:
    content = [{"type": "text", "text": text}]
    return ["session/prompt", {"sessionId": "$SESSION", "prompt": content}]


class Editor:
    """An editor that notes what it is shown, and answers permissions by the kind of an option."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self._has_more = asyncio.Event()
        self.asked: list[schema.ToolCallUpdate] = []
        self.offered: list[list[schema.PermissionOption]] = []
        self.answer: Callable[[], Awaitable[str | None]] = self.allow
        self.connection = cast("ClientSideConnection", None)

    async def allow(self) -> str | None:
        return "allow_once"

    async def session_update(self, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self._has_more.set()

    async def request_permission(
        self, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append(tool_call)
        self.offered.append(options)
        kind = await self.answer()
        chosen = next((it.option_id for it in options if it.kind == kind), None)
        if chosen is None:
            cancelled = schema.DeniedOutcome(outcome="cancelled")
            return schema.RequestPermissionResponse(outcome=cancelled)
        selected = schema.AllowedOutcome(outcome="selected", option_id=chosen)
        return schema.RequestPermissionResponse(outcome=selected)

    async def prompt(self, session: str, text: str) -> str:
        answer = await self.connection.prompt(session_id=session, prompt=[text_block(text)])
        return str(answer.stop_reason)

    async def wait_for(self, text: str) -> None:
        while text not in self.text():
            self._has_more.clear()
            await self._has_more.wait()

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(it.content.text for it in self.updates if it.session_update == kind)


Use = Callable[[Editor], Awaitable[None]]


class EditorWorld:
    """A userData folder, its kernel, and editors that come and go."""

    def __init__(self, user_data: Path, repo: Path, *options: str) -> None:
        self.user_data, self.repo, self.options = user_data, repo, options
        self.kernel = SharedKernel(user_data)

    @property
    def words(self) -> list[str]:
        return [
            sys.executable,
            "-m",
            "codekernel",
            "acp",
            "--user-data",
            str(self.user_data),
            *self.options,
        ]

    @property
    def environ(self) -> dict[str, str]:
        return {**bare_environment(self.user_data), **ENVIRON}

    def use(self, use: Use) -> None:
        async def main() -> None:
            async with asyncio.timeout(PATIENCE_SECONDS), self.open() as editor:
                await use(editor)

        asyncio.run(main())

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Editor]:
        editor = Editor()
        async with spawn_agent_process(cast("Client", editor), *self.words, env=self.environ) as (
            connection,
            _,
        ):
            editor.connection = connection
            await connection.initialize(
                protocol_version=1, client_info=schema.Implementation(name="Zed", version="1")
            )
            yield editor

    async def start(self, editor: Editor) -> str:
        answer = await editor.connection.new_session(cwd=str(self.repo), mcp_servers=[])
        return answer.session_id

    def run_typescript(self, answer: str, *steps: Step) -> Iterator[dict[str, Any]]:
        """Run a client on the TypeScript SDK; what it prints. ``$REPO`` is our repository."""
        require_acp_peers()
        text = json.dumps({"command": self.words, "answer": answer, "steps": steps})
        node, script = str(shutil.which("node")), str(ACP_PEERS / "client.mjs")
        with subprocess.Popen(
            [node, script, text.replace("$REPO", str(self.repo))],
            stdout=subprocess.PIPE,
            env=self.environ,
        ) as client:
            assert client.stdout
            yield from map(json.loads, client.stdout)

    def open_sessions(self) -> RemoteAgentSessions:
        return RemoteAgentSessions(KernelRequests(self.user_data, "test"))
