"""List and read the saved conversations of a repository.

A file is read again only when it has changed.
"""

import threading
from contextlib import suppress
from dataclasses import dataclass, replace

from codekernel.conversation.history import ConversationHistories
from codekernel.errors import StorageError, WrongParam
from codekernel.protocol.history_file import (
    UnreadableHistoryError,
    decode_history_file,
    salvage_history,
)
from codekernel.protocol.messages.conversation import HistoryFile
from codekernel.storage.conversation_files import ConversationFiles

# Characters of a topic in a list. It is a whole question, and may be a pasted page.
MAX_TOPIC_CHARS = 300

_MS_PER_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation as a list shows it; ``time_ms`` is that of its last turn.

    ``damage`` is the reason why its file cannot be read completely; with ``is_unsaved``, turns are
    in memory alone.
    """

    conversation_id: int
    topic: str
    time_ms: int
    turns: int
    repo_path: str
    damage: str = ""
    is_unsaved: bool = False


# When a file was last written and how long it is: the same again means the same content.
_FileStamp = tuple[int, int]


class ConversationArchive:
    """The conversations of one userData folder; safe to use from any thread.

    A file is read when it is first listed and whenever it has changed since.
    """

    def __init__(self, files: ConversationFiles, histories: ConversationHistories) -> None:
        self._files = files
        self._histories = histories
        self._summary_cache: dict[int, tuple[_FileStamp, ConversationSummary | None]] = {}
        self._lock = threading.Lock()

    def list_conversations(self, repo_path: str) -> list[ConversationSummary]:
        """Return the conversations about this folder, newest first; other files are left out."""
        with self._lock:
            stamps = self._files.read_stamps()
            known = {
                number: self._summarize_file(number, stamp) for number, stamp in stamps.items()
            }
            self._summary_cache = known
        outlines = {number: found for number, (_, found) in known.items() if found}
        for number in {edit.conversation_id for edit in self._histories.unsaved}:
            if found := self._summarize_unsaved(number, outlines.get(number)):
                outlines[number] = found
        found_here = [each for each in outlines.values() if each.repo_path == repo_path]
        return sorted(
            found_here, key=lambda each: (each.time_ms, each.conversation_id), reverse=True
        )

    def list_damages(self) -> dict[str, str]:
        """Return the reason of each file that cannot be read completely, as of the last listing."""
        with self._lock:
            known = dict(self._summary_cache)
        found = {}
        for number, (_, outline) in known.items():
            damage = outline.damage if outline else self._histories.describe_damage(number)
            if damage:
                found[self._files.history_path(number).name] = damage
        return found

    def read(self, conversation_id: int, repo_path: str) -> HistoryFile:
        """Read one conversation about this folder; of a damaged one, what can be read of it.

        Raises WrongParam if there is none, StorageError if its file cannot be read now.
        """
        found = self._histories.read(conversation_id)
        if found is None and (damage := self._histories.describe_damage(conversation_id)):
            path = self._files.history_path(conversation_id)
            raise StorageError(f"{path} is no conversation: {damage}")
        if found is None or found.repo_path != repo_path:
            raise WrongParam(f"There is no conversation {conversation_id} about this repository.")
        return found.entries

    def _summarize_file(
        self, number: int, stamp: _FileStamp
    ) -> tuple[_FileStamp, ConversationSummary | None]:
        before = self._summary_cache.get(number)
        if before and before[0] == stamp:
            return before
        try:
            content = self._files.read_history(number) or b""
        except StorageError:
            return stamp, None
        try:
            return stamp, _summarize(number, decode_history_file(content), stamp)
        except UnreadableHistoryError as error:
            salvaged = salvage_history(content, number)
            if salvaged is None:
                return stamp, None
            outline = _summarize(number, salvaged.entries, stamp)
            return stamp, replace(outline, damage=str(error) or "unreadable")

    def _summarize_unsaved(
        self, number: int, summary: ConversationSummary | None
    ) -> ConversationSummary | None:
        with suppress(StorageError):
            if history := self._histories.read(number):
                found = _summarize(number, history.entries, (0, 0))
                return replace(found, damage=summary.damage if summary else "", is_unsaved=True)
        return summary


def _summarize(number: int, entries: HistoryFile, stamp: _FileStamp) -> ConversationSummary:
    """Summarize a conversation; one without a finished turn has the time of its file."""
    turns = entries.history
    return ConversationSummary(
        conversation_id=number,
        topic=entries.topic[:MAX_TOPIC_CHARS],
        time_ms=turns[-1].time if turns else stamp[0] // _MS_PER_NS,
        turns=len(turns),
        repo_path=entries.repo_path,
    )
