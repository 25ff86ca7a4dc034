"""Serve our agent to an editor over stdin and stdout, which are claimed for the protocol."""

import asyncio
import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from acp.core import AgentSideConnection

from codekernel.adapters.acp.agent import EditorAgent
from codekernel.adapters.acp.agent_process import (
    JsonMessage,
    MessageTransport,
    format_message,
    parse_message,
)
from codekernel.adapters.acp.editor_session import PERMISSION_META
from codekernel.domain.agent_sessions import AgentSessions
from codekernel.transport.descriptors import StdioPipe
from codekernel.transport.lines import LineSplitter

_READ_BYTES = 64 * 1024

_PERMISSION_METHOD = "session/request_permission"

_CANCEL_METHOD = "$/cancel_request"

# For the last answers, once the editor has closed its end.
_FLUSH_TIMEOUT_SECONDS = 1.0


def serve_editor(wire: StdioPipe, sessions: AgentSessions, kind: str) -> None:
    """Answer until stdin ends; agents that work go on in the kernel."""
    output = _EditorOutput(wire)
    asyncio.run(_serve(wire, output, sessions, kind))
    output.close()


async def _serve(
    wire: StdioPipe, output: "_EditorOutput", sessions: AgentSessions, kind: str
) -> None:
    agent = EditorAgent(sessions, kind, output.end_question)
    transport = MessageTransport(_read_messages(wire), output.send, "acp:stdin")
    connection = AgentSideConnection(cast("Any", agent), transport, listening=False)
    following = asyncio.create_task(agent.follow(), name="events")
    listening = asyncio.create_task(connection.listen(), name="requests")
    await asyncio.wait((following, listening), return_when=asyncio.FIRST_COMPLETED)
    following.cancel()
    listening.cancel()
    await connection.close()
    if following.done() and not following.cancelled() and (error := following.exception()):
        raise error


def _read_messages(wire: StdioPipe) -> Iterator[JsonMessage]:
    splitter = LineSplitter()
    with suppress(OSError):
        while chunk := wire.read(_READ_BYTES):
            for line in splitter.feed(chunk):
                message = parse_message(line) if isinstance(line, bytes) else None
                if message is not None:
                    yield message


class _EditorOutput:
    """Writes messages on a thread of its own, and knows the numbers of the open permissions."""

    def __init__(self, wire: StdioPipe) -> None:
        self._wire = wire
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._permission_numbers: dict[str, int] = {}
        self._thread = threading.Thread(target=self._write, name="acp:stdout", daemon=True)
        self._thread.start()

    def send(self, message: JsonMessage) -> None:
        """Queue a message."""
        if message.get("method") == _PERMISSION_METHOD:
            self._permission_numbers[message["params"]["_meta"][PERMISSION_META]] = message["id"]
        self._lines.put(format_message(message))

    def end_question(self, name: str, *, is_open: bool) -> None:
        """Forget a permission; take the question back if the editor has not answered it."""
        number = self._permission_numbers.pop(name, None)
        if is_open and number is not None:
            self.send({"jsonrpc": "2.0", "method": _CANCEL_METHOD, "params": {"requestId": number}})

    def close(self) -> None:
        """Write what is queued, unless the editor does not read."""
        self._lines.put(None)
        self._thread.join(_FLUSH_TIMEOUT_SECONDS)

    def _write(self) -> None:
        with suppress(OSError):  # the editor is gone, which its stdin tells
            while (line := self._lines.get()) is not None:
                self._wire.write(line)
