"""Carries JSON-RPC messages between a thread that reads lines and the SDK on its event loop."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

JsonMessage = dict[str, Any]


class MessageTransport:
    """The ``Transport`` of the SDK; messages are taken one by one, so that a peer may have to wait.

    ``send`` must not block.
    """

    def __init__(
        self, messages: Iterator[JsonMessage], send: Callable[[JsonMessage], None], name: str
    ) -> None:
        """Begin to read, on a thread of this name. The event loop must be running."""
        self._messages = messages
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._received: asyncio.Queue[JsonMessage | None] = asyncio.Queue(maxsize=1)
        threading.Thread(target=self._read, name=name, daemon=True).start()

    async def send(self, message: JsonMessage) -> None:
        """Queue a message."""
        self._send(message)

    async def receive(self) -> JsonMessage | None:
        """Return the next message; None once the peer has ended."""
        return await self._received.get()

    async def close(self) -> None:
        """Nothing: what is read is ended by its owner."""

    def _read(self) -> None:
        with suppress(RuntimeError, CancelledError):  # the loop has ended
            for message in self._messages:
                self._put(message)
            self._put(None)

    def _put(self, message: JsonMessage | None) -> None:
        asyncio.run_coroutine_threadsafe(self._received.put(message), self._loop).result()


def format_message(message: JsonMessage) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def parse_message(line: bytes) -> JsonMessage | None:
    """Return the message of a line; None if it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
