"""An ACP agent on the official SDK that does what its prompt says, for tests of a client.

A prompt is a list of words: ``say:hello think:hmm pause:0.1 tool ask plan die garbage half hang
flood long write:a.txt=text delete:a.txt mcp``. Run as
``python scripted_agent.py [no-load] [needs-login]``.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, cast

from acp import Agent, Client, RequestError, run_agent, schema, text_block
from acp.helpers import (
    start_tool_call,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)

OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    schema.PermissionOption(option_id="always", name="Always", kind="allow_always"),
    schema.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


class ScriptedAgent:
    client: Client

    def __init__(self, flags: list[str]) -> None:
        self._flags = flags
        self._folders: dict[str, Path] = {}
        self._servers: list[Any] = []
        self._cancelled = asyncio.Event()

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        if "silent" in self._flags:
            await asyncio.Event().wait()
        sys.stderr.write("an agent of tests is ready\n")
        return schema.InitializeResponse(
            protocol_version=2 if "future" in self._flags else protocol_version,
            agent_capabilities=schema.AgentCapabilities(load_session="no-load" not in self._flags),
            auth_methods=[schema.AuthMethodAgent(id="key", name="API key")],
        )

    async def new_session(
        self, cwd: str, mcp_servers: Any = None, **_: Any
    ) -> schema.NewSessionResponse:
        if "needs-login" in self._flags:
            raise RequestError.auth_required({"details": "no key"})
        name = f"session-{os.getpid()}"
        self._folders[name], self._servers = Path(cwd), mcp_servers
        return schema.NewSessionResponse(session_id=name)

    async def load_session(
        self, cwd: str, session_id: str, **_: Any
    ) -> schema.LoadSessionResponse | None:
        self._folders[session_id] = Path(cwd)
        await self.client.session_update(session_id, update_agent_message_text("as before"))
        return None

    async def cancel(self, **_: Any) -> None:
        if "stubborn" not in self._flags:
            self._cancelled.set()

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> schema.PromptResponse:
        self._cancelled.clear()
        for number, word in enumerate(prompt[0].text.split()):
            order, _, given = word.partition(":")
            stop = await getattr(self, f"do_{order}")(session_id, given, f"call-{number}")
            if stop or self._cancelled.is_set():
                return schema.PromptResponse(stop_reason="cancelled")
        usage = schema.Usage(input_tokens=7, output_tokens=3, total_tokens=10)
        return schema.PromptResponse(stop_reason="end_turn", usage=usage)

    async def do_say(self, session: str, text: str, _: str) -> None:
        await self.client.session_update(session, update_agent_message_text(text))

    async def do_pause(self, _: str, seconds: str, __: str) -> None:
        await asyncio.sleep(float(seconds))

    async def do_think(self, session: str, text: str, _: str) -> None:
        await self.client.session_update(session, update_agent_thought_text(text))

    async def do_tool(self, session: str, given: str, call: str) -> None:
        """Announce a call before its input is known, as agents do."""
        announced = start_tool_call(call, "Edit a.py", kind="edit", status="pending", raw_input={})
        await self.client.session_update(session, announced)
        known = update_tool_call(call, status="in_progress", raw_input={"path": "a.py"})
        await self.client.session_update(session, known)
        if given == "unfinished":
            return
        diff = tool_diff_content("a.py", "two\n", "one\n")
        done = update_tool_call(
            call,
            status="failed" if given == "failed" else "completed",
            content=[tool_content(text_block("edited")), diff],
        )
        await self.client.session_update(session, done)

    async def do_ask(self, session: str, _: str, call: str) -> bool:
        asked = schema.ToolCallUpdate(
            tool_call_id=call, title="rm -r x", kind="execute", raw_input={"command": "rm -r x"}
        )
        answer = await self.client.request_permission(session, asked, OPTIONS)
        outcome = answer.outcome
        if isinstance(outcome, schema.DeniedOutcome):
            return True
        await self.do_say(session, f"chosen={outcome.option_id}", "")
        return False

    async def do_plan(self, session: str, _: str, __: str) -> None:
        entry = schema.PlanEntry(content="look", priority="high", status="in_progress")
        await self.client.session_update(session, update_plan([entry]))

    async def do_mcp(self, session: str, _: str, __: str) -> None:
        servers = [server.model_dump(by_alias=True) for server in self._servers]
        await self.do_say(session, json.dumps(servers), "")

    async def do_write(self, session: str, given: str, _: str) -> None:
        name, _, text = given.partition("=")
        path = self._folders[session] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    async def do_delete(self, session: str, given: str, _: str) -> None:
        (self._folders[session] / given).unlink()

    async def do_child(self, session: str, _: str, __: str) -> None:
        """Start a program that outlives us unless our group is ended."""
        child = await asyncio.create_subprocess_exec("sleep", "600")
        await self.do_say(session, f"child={child.pid}", "")

    async def do_die(self, *_: str) -> None:
        sys.stderr.write("out of memory\n")
        os.kill(os.getpid(), signal.SIGKILL)

    async def do_hang(self, *_: str) -> None:
        await self._cancelled.wait()

    async def do_unknown(self, session: str, _: str, __: str) -> None:
        """Send updates of a protocol that nobody knows yet."""
        updates: tuple[object, ...] = ({"sessionUpdate": "dream"}, {"sessionUpdate": 5}, [], None)
        for update in updates:
            params = {"sessionId": session, "update": update}
            _print_raw(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}))
        _print_raw(json.dumps({"jsonrpc": "2.0", "id": [1], "result": {}}))
        _print_raw(json.dumps({"jsonrpc": "2.0", "id": 999, "result": {}}))

    async def do_garbage(self, _: str, count: str, __: str) -> None:
        for line in ("npm warn", "{", "[1]", "5", "\x00\xff", "[" * 100_000):
            _print_raw(line)
        for _number in range(int(count or 0)):
            _print_raw("garbage")

    async def do_half(self, *_: str) -> None:
        os.write(1, b'{"jsonrpc":"2.0","method":"session/upd')
        os.kill(os.getpid(), signal.SIGKILL)

    async def do_long(self, *_: str) -> None:
        while True:
            _write_raw(b"x" * 1_000_000)

    async def do_flood(self, session: str, _: str, __: str) -> None:
        update = update_agent_message_text("x" * 10_000)
        while True:
            await self.client.session_update(session, update)


def _print_raw(line: str) -> None:
    _write_raw(line.encode(errors="replace") + b"\n")


def _write_raw(data: bytes) -> None:
    while data:
        try:
            data = data[os.write(1, data) :]
        except BlockingIOError:
            continue


if __name__ == "__main__":
    asyncio.run(run_agent(cast("Agent", ScriptedAgent(sys.argv[1:]))))
