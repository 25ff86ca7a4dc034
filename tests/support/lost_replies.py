"""A kernel that dies after it has acted and before its replies have arrived."""

import threading
from pathlib import Path

from codekernel.client.launcher import connect_to_kernel
from codekernel.transport.local_endpoint import LocalPipe


class LostReplies:
    """Connects to the shared kernel; after ``begin`` its replies are lost until it has died."""

    def __init__(self) -> None:
        self._are_lost = threading.Event()

    def begin(self) -> None:
        """Lose what the present kernel says from now on."""
        self._are_lost.set()

    def connect(self, user_data: str | Path) -> LocalPipe:
        """Connect as ``connect_to_kernel`` does."""
        return _LossyPipe(connect_to_kernel(user_data), self._are_lost)


class _LossyPipe:
    def __init__(self, pipe: LocalPipe, are_lost: threading.Event) -> None:
        self._pipe = pipe
        self._are_lost = are_lost
        self.write = pipe.write
        self.set_timeout = pipe.set_timeout
        self.close_reading = pipe.close_reading
        self.end_writing = pipe.end_writing
        self.finish_writing = pipe.finish_writing
        self.close = pipe.close

    def read(self, size: int) -> bytes:
        while (chunk := self._read(size)) and self._are_lost.is_set():
            pass
        if not chunk:
            self._are_lost.clear()
        return chunk

    def _read(self, size: int) -> bytes:
        try:
            return self._pipe.read(size)
        except OSError:
            return b""
