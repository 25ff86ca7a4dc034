"""Carries JSON-RPC messages between a thread that reads lines and the SDK on its event loop."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

JsonMessage = dict[str, Any]

Result = TypeVar("Result")


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
        self._is_closed = False
        self._thread = threading.Thread(target=self._read, name=name, daemon=True)
        self._thread.start()

    async def send(self, message: JsonMessage) -> None:
        """Queue a message."""
        self._send(message)

    async def receive(self) -> JsonMessage | None:
        """Return the next message; None once the peer has ended."""
        return await self._received.get()

    async def close(self) -> None:
        """Drop what comes from now on; what is read is ended by its owner."""
        self._is_closed = True
        while not self._received.empty():
            self._received.get_nowait()

    def join(self, timeout_seconds: float) -> None:
        """Wait until nothing is read any more, so that the loop may end."""
        self._thread.join(timeout_seconds)

    def _read(self) -> None:
        with suppress(RuntimeError, CancelledError):  # the loop has ended
            for message in self._messages:
                self._put(message)
            self._put(None)

    def _put(self, message: JsonMessage | None) -> None:
        if not self._is_closed:
            run_on_loop(self._received.put(message), self._loop).result()


def run_on_loop(
    work: Coroutine[Any, Any, Result], loop: asyncio.AbstractEventLoop
) -> "Future[Result]":
    """Run a coroutine on the loop of another thread. Raises RuntimeError if that has ended."""
    try:
        return asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:
        work.close()
        raise


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
