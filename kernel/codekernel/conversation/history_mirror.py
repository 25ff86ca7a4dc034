"""A copy of each conversation in its repository, as PocketRAG's front end reads it.

Only for a kernel that this front end started. The history under userData is authoritative: what
is found only in a repository was written by an earlier PocketRAG.
"""

import logging
import os
import threading
from pathlib import Path
from typing import Any

from codekernel.conversation.save_retry import SaveRetryThread
from codekernel.errors import StorageError
from codekernel.protocol.history_file import ConversationHistory
from codekernel.protocol.history_import import build_context_messages, read_pocketrag_history
from codekernel.storage.conversation_files import (
    MirrorPathRejected,
    read_mirror,
    remove_mirror,
    write_mirror,
)

logger = logging.getLogger(__name__)


class HistoryMirror:
    """Copies of histories in their repositories; never raises, for no answer depends on them."""

    def __init__(self, save_retry: SaveRetryThread) -> None:
        self._save_retry = save_retry
        save_retry.add_saver(self.save_pending)
        self._pending: dict[int, ConversationHistory] = {}
        self._logged_refusals: set[str] = set()
        self._lock = threading.Lock()

    def write(self, conversation_id: int, history: ConversationHistory) -> None:
        """Copy a history; one that the disk refuses is kept for ``save_pending``."""
        refusal = self._write(conversation_id, history)
        with self._lock:
            if not refusal:
                self._pending.pop(conversation_id, None)
                return
            self._pending[conversation_id] = history
        logger.warning("a conversation is not mirrored yet. %s", refusal)
        self._save_retry.start()

    def save_pending(self) -> str:
        """Copy what was refused; return what is refused again, or ""."""
        with self._lock:
            waiting = dict(self._pending)
        refusals = []
        for number, history in waiting.items():
            refusal = self._write(number, history)
            refusals.append(refusal)
            with self._lock:
                if not refusal and self._pending.get(number) is history:
                    del self._pending[number]
        return next(filter(None, refusals), "")

    def merge_mirrored(
        self, conversation_id: int, repo_path: str, known: ConversationHistory | None
    ) -> ConversationHistory | None:
        """Return a history with the turns that are only in the mirror."""
        try:
            content = read_mirror(Path(repo_path), _mirror_name(conversation_id))
        except StorageError as error:
            logger.warning("a mirrored conversation cannot be read. %s", error)
            return known
        found = read_pocketrag_history(content, conversation_id, repo_path) if content else None
        if found is None:
            return known
        return known.merge(found) if known else found

    def has_copy(self, conversation_id: int, repo_path: str) -> bool:
        """Return whether there is a readable copy."""
        try:
            return read_mirror(Path(repo_path), _mirror_name(conversation_id)) is not None
        except StorageError:
            return False

    def remove(self, conversation_id: int, repo_path: str) -> None:
        """Delete a copy."""
        with self._lock:
            self._pending.pop(conversation_id, None)
        try:
            for name in (_mirror_name(conversation_id), _full_mirror_name(conversation_id)):
                remove_mirror(Path(repo_path), name)
        except StorageError as error:
            logger.warning("a mirrored conversation stays. %s", error)

    def _write(self, conversation_id: int, history: ConversationHistory) -> str:
        root = Path(history.repo_path)
        if not history.repo_path or not os.path.isdir(root):  # noqa: PTH112 - any text may stand there
            return ""
        messages: list[dict[str, Any]] = build_context_messages(history)
        try:
            write_mirror(root, _mirror_name(conversation_id), history.to_bytes())
            write_mirror(
                root,
                _full_mirror_name(conversation_id),
                ConversationHistory.dump_document(messages),
            )
        except MirrorPathRejected as error:  # trying again would change nothing
            if str(error) not in self._logged_refusals:
                self._logged_refusals.add(str(error))
                logger.warning("%s", error)
        except StorageError as error:
            return str(error)
        except OSError as error:
            return f"{root} cannot be read or written: {error.strerror}"
        return ""


def _mirror_name(conversation_id: int) -> str:
    return f"conversation-{conversation_id}.json"


def _full_mirror_name(conversation_id: int) -> str:
    """Return the file of the context that an earlier PocketRAG kernel would read."""
    return f"conversation-{conversation_id}_full.json"
