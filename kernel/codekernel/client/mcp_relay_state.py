"""What a relay remembers of an MCP client, so that it can go on with another kernel.

Pure: lines go in, lines come out. The handshake is repeated without the client; calls that wait
are sent again, for every tool only reads.
"""

from __future__ import annotations

import json
import re

from codekernel.client.relay_state import RelayedLines, find_refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A kernel that refuses to attach says so in its own protocol, which the client does not read.
_ENVELOPE_HEAD = b'{"sessionId":'

# As the server writes a reply, however long: the id before the result.
_REPLY_HEAD = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d+|"(?:[^"\\]|\\.)*"),"(?:result|error)":')


class McpRelayState:
    """The handshake and the calls that wait; not for several threads at once."""

    def __init__(self) -> None:
        self.is_stopping = False
        self.refusal = ""
        self.answered_count = 0
        self._initialize: bytes = b""
        self._initialize_id: Any = None
        self._initialized: bytes = b""
        self._pending: dict[Any, bytes] = {}
        self._answered_id: Any = None  # of the line that is being read
        self.is_holding = False  # while the handshake is repeated

    def note_request(self, line: bytes) -> None:
        """Remember a line of the client; of a batch each message, to be sent alone."""
        message = _parse_any(line)
        if isinstance(message, list):
            for each in message:
                self._note_message(each, json.dumps(each).encode())
        else:
            self._note_message(message, line)

    def _note_message(self, message: Any, line: bytes) -> None:
        if not isinstance(message, dict):
            return
        method, request_id = message.get("method"), message.get("id")
        if method == "initialize":
            self._initialize, self._initialize_id = line, request_id
        elif method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            cancelled = _get_params(message).get("requestId")
            if isinstance(cancelled, str | int):
                self._pending.pop(cancelled, None)
        if method and isinstance(request_id, str | int):
            self._pending[request_id] = line

    def classify_head(self, head: bytes) -> tuple[bool, bool]:
        """Return whether a line is forwarded, and whether it is read whole."""
        # The repeated handshake is answered before anything else is said.
        is_forwarded = not self.is_holding and not head.startswith(_ENVELOPE_HEAD)
        found = _REPLY_HEAD.match(head)
        self._answered_id = json.loads(found[1]) if found else None
        return is_forwarded, not found

    def note_line(self, line: bytes) -> RelayedLines:
        """Remember a line of the kernel whose head did not say what it is."""
        message = _parse(line)
        if line.startswith(_ENVELOPE_HEAD):
            self.refusal = find_refusal(message)
        else:
            self._answered_id = None if "method" in message else message.get("id")
        return RelayedLines()

    def note_end(self) -> None:
        """Forget a call that is answered; a reply torn by a death is none."""
        if isinstance(self._answered_id, str | int):
            self._pending.pop(self._answered_id, None)
            self.answered_count += not self.is_holding
            if self._answered_id == self._initialize_id:
                self.is_holding = False
        self._answered_id = None

    def restart(self) -> tuple[list[bytes], list[bytes]]:
        """Return the lines for a new kernel, and those for the client, after a death."""
        was_initialized = self._initialize and self._initialize_id not in self._pending
        if was_initialized:
            self.is_holding = True
            return [self._initialize], []
        return list(self._pending.values()), []

    def release_held(self) -> list[bytes]:
        """Return what follows the repeated handshake."""
        return [*filter(None, [self._initialized]), *self._pending.values()]

    def describe_end(self, error: str) -> bytes:
        """Return the last line for the client if no other kernel can be had."""
        message = {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "error", "data": error},
        }
        return json.dumps(message).encode()


def _parse(line: bytes) -> dict[str, Any]:
    message = _parse_any(line)
    return message if isinstance(message, dict) else {}


def _parse_any(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _get_params(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}
