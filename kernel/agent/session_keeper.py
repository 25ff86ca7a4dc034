"""A session that is saved after every round, by what was added to it.

A line that was added survives the end of the process at once; a thread makes it survive a power
cut, a second later at the most, so that no round waits for the disk.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from kernel.agent.session_lines import SavedSession, added_line, whole_line
from kernel.domain.chat import ChatMessage
from kernel.errors import StorageError
from kernel.storage.failures import explain

# What a power cut may take of a conversation. Each flush holds up those of the files being edited.
_SECONDS_UNTIL_FLUSHED = 1.0


class Told(Protocol):
    """Hears whether a session could be saved."""

    def __call__(self, session: SavedSession, *, is_refused: bool) -> None:
        """Take note of it."""


class Keeper:
    """``save`` writes a session whole, in place of what is there: its first state here."""

    def __init__(
        self, session: SavedSession, file: Path, save: Callable[[SavedSession], None]
    ) -> None:
        self._session = session
        self._file = file
        self._save = save
        self._saved: list[ChatMessage] | None = None
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="session")
        self._flushing: Future[None] | None = None
        self._is_flush_ahead = False
        self._hurry = threading.Event()
        # Called after each attempt to save, with whether it was refused.
        self.on_refused: Told = _nothing

    def keep(self) -> None:
        """Save what the session is now. Raises StorageError."""
        try:
            self._keep()
        except StorageError:
            self.on_refused(self._session, is_refused=True)
            raise
        self.on_refused(self._session, is_refused=False)

    def _keep(self) -> None:
        messages = self._session.transcript.messages
        already, self._saved = self._saved, None  # what fails is written whole the next time
        if already is None:
            self._save(self._session)
        else:
            is_longer = _goes_on(already, messages)
            self._append(
                added_line(self._session, len(already)) if is_longer else whole_line(self._session)
            )
        self._saved = list(messages)

    def settle(self) -> None:
        """Wait until all is on disk. Raises StorageError."""
        self._hurry.set()
        try:
            if self._flushing is not None:
                self._flushing.result()
        finally:
            self._hurry.clear()

    def _append(self, line: bytes) -> None:
        try:
            with self._file.open("ab") as file:
                file.write(line)
        except OSError as error:
            raise explain(error, self._file) from error
        if not self._is_flush_ahead:
            self._is_flush_ahead = True
            self._flushing = self._pool.submit(self._flush_soon)

    def _flush_soon(self) -> None:
        self._hurry.wait(_SECONDS_UNTIL_FLUSHED)
        self._is_flush_ahead = False  # before it: a line that comes meanwhile needs another one
        try:
            with self._file.open("rb+") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise explain(error, self._file) from error


def _nothing(session: SavedSession, *, is_refused: bool) -> None:
    """Nobody wants to know."""


def _goes_on(already: list[ChatMessage], messages: list[ChatMessage]) -> bool:
    """Whether nothing has happened to the messages but that others were added."""
    return len(already) <= len(messages) and all(
        one is other for one, other in zip(already, messages, strict=False)
    )
