"""A turn that runs in the kernel, followed by a command: its parts, Ctrl-C, permissions."""

import queue
import signal
import threading
import uuid
from collections.abc import Generator
from typing import Any

from codekernel.cli.folder_session import FolderSession
from codekernel.cli.process import catch_signals
from codekernel.errors import KernelError, RefusedByKernel

# How often None is yielded while there are no parts.
POLL_INTERVAL_SECONDS = 0.05

Part = dict[str, Any] | RefusedByKernel


class TurnStream:
    """One turn of a conversation; it ends with the connection of its command."""

    def __init__(
        self,
        session: FolderSession,
        message_type: str,
        conversation_id: int,
        fields: dict[str, Any],
    ) -> None:
        self._session = session
        self._conversation_id = conversation_id
        identity = {"conversationId": conversation_id, "turnKey": str(uuid.uuid4())}
        self._begin = (message_type, {**identity, **fields})
        self._parts: queue.SimpleQueue[Part | KernelError | None] = queue.SimpleQueue()
        self.is_stopped = False

    def follow(self, *signals: signal.Signals) -> Generator[Part | None, None, None]:
        """Begin and yield the parts up to ``done``, and None several times a second.

        The first of the ``signals`` stops the turn, whose end is waited for; the second one raises
        KeyboardInterrupt. Raises KernelError if no kernel can go on.
        """
        kind, fields = self._begin
        callback_id = self._session.post(kind, **fields)
        threading.Thread(target=self._read, args=(callback_id,), name="turn", daemon=True).start()
        # SimpleQueue.put is reentrant, so a signal handler may call it.
        with catch_signals(*signals, wake=lambda: self._parts.put(None)) as caught:
            while True:
                try:
                    part = self._parts.get(timeout=POLL_INTERVAL_SECONDS)
                except queue.Empty:
                    part = None
                if caught.is_set():
                    self.stop()
                if isinstance(part, KernelError) and not isinstance(part, RefusedByKernel):
                    raise part
                yield part
                if isinstance(part, dict) and part["type"] == "done":
                    return

    def stop(self) -> None:
        """Stop the turn; what was shown is kept."""
        if not self.is_stopped:
            self.is_stopped = True
            self._session.post("stopConversation", conversationId=self._conversation_id)

    def answer_permission(self, tool_use_id: str, *, allowed: bool) -> None:
        """Answer a tool that waits."""
        self._session.post(
            "answerPermission",
            conversationId=self._conversation_id,
            toolUseId=tool_use_id,
            decision="allow" if allowed else "deny",
        )

    def _read(self, callback_id: int) -> None:
        try:
            for part in self._session.kernel.iterate_turn(callback_id):
                self._parts.put(part)
        except KernelError as error:
            self._parts.put(error)
