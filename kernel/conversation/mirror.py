"""Conversations as PocketRAG's front end reads them: a copy of each in its repository.

Only for a kernel that this front end has started. The history under userData stays the one that
counts; what is found in a repository and not there was written by an earlier PocketRAG.
"""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel.errors import StorageError
from kernel.protocol.front_end_history import context_messages, read_front_end_history
from kernel.protocol.history_file import History
from kernel.storage.conversation_mirror import (
    MirrorRefused,
    read_mirror,
    remove_mirror,
    write_mirror,
)

logger = logging.getLogger(__name__)


class HistoryMirror:
    """Copies of histories in their repositories; never raises, for no answer depends on them."""

    def __init__(self) -> None:
        self.on_refused: Callable[[], None] = lambda: None
        self._waiting: dict[int, History] = {}
        self._refused: set[str] = set()
        self._lock = threading.Lock()

    def write(self, conversation_id: int, history: History) -> None:
        """Copy a history; one that the disk does not take is kept for ``save_waiting``."""
        refusal = self._write(conversation_id, history)
        with self._lock:
            if not refusal:
                self._waiting.pop(conversation_id, None)
                return
            self._waiting[conversation_id] = history
        logger.warning("a conversation is not mirrored yet. %s", refusal)
        self.on_refused()

    def save_waiting(self) -> str:
        """Copy what was refused; returns what is refused again, or ""."""
        with self._lock:
            waiting = dict(self._waiting)
        refusals = []
        for number, history in waiting.items():
            refusal = self._write(number, history)
            refusals.append(refusal)
            with self._lock:
                if not refusal and self._waiting.get(number) is history:
                    del self._waiting[number]
        return next(filter(None, refusals), "")

    def find(self, conversation_id: int, repo_path: str, known: History | None) -> History | None:
        """Return what is known of a conversation with the turns that are only in the mirror."""
        try:
            content = read_mirror(Path(repo_path), _name(conversation_id))
        except StorageError as error:
            logger.warning("a mirrored conversation cannot be read. %s", error)
            return known
        found = read_front_end_history(content, conversation_id, repo_path) if content else None
        if found is None:
            return known
        return known.joined(found) if known else found

    def has(self, conversation_id: int, repo_path: str) -> bool:
        """Whether there is a copy that can be read."""
        try:
            return read_mirror(Path(repo_path), _name(conversation_id)) is not None
        except StorageError:
            return False

    def remove(self, conversation_id: int, repo_path: str) -> None:
        """Delete a copy."""
        with self._lock:
            self._waiting.pop(conversation_id, None)
        try:
            for name in (_name(conversation_id), _full_name(conversation_id)):
                remove_mirror(Path(repo_path), name)
        except StorageError as error:
            logger.warning("a mirrored conversation stays. %s", error)

    def _write(self, conversation_id: int, history: History) -> str:
        root = Path(history.repo_path)
        if not history.repo_path or not os.path.isdir(root):  # noqa: PTH112 - any text may stand there
            return ""
        messages: list[dict[str, Any]] = context_messages(history)
        try:
            write_mirror(root, _name(conversation_id), history.content())
            write_mirror(root, _full_name(conversation_id), History.raw_content(messages))
        except MirrorRefused as error:  # trying again would change nothing
            if str(error) not in self._refused:
                self._refused.add(str(error))
                logger.warning("%s", error)
        except StorageError as error:
            return str(error)
        except OSError as error:
            return f"{root} cannot be read or written: {error.strerror}"
        return ""


def _name(conversation_id: int) -> str:
    return f"conversation-{conversation_id}.json"


def _full_name(conversation_id: int) -> str:
    """The context of an earlier PocketRAG's kernel, should somebody go back to it."""
    return f"conversation-{conversation_id}_full.json"
