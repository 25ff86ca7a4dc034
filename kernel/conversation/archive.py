"""The conversations there are about a repository: listed without reading them twice, and read."""

import threading
from dataclasses import dataclass

from kernel.errors import StorageError, WrongParam
from kernel.protocol.history_file import History, HistoryFile, UnreadableHistory, entries_of
from kernel.storage.conversations import ConversationFiles

# Characters of a topic in a list. It is a whole question, and may be a pasted page.
TOPIC_CHARACTERS = 300
_MS_PER_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Outline:
    """A conversation as a list shows it; ``time_ms`` is that of its last turn."""

    conversation_id: int
    topic: str
    time_ms: int
    turns: int
    repo_path: str


# When a file was last written and how long it is: the same again means the same content.
_Stamp = tuple[int, int]


class Archive:
    """The histories of one userData folder; any thread may ask.

    A file is read when it is first listed and whenever it has changed since.
    """

    def __init__(self, files: ConversationFiles) -> None:
        self._files = files
        self._known: dict[int, tuple[_Stamp, Outline | None]] = {}
        self._reading = threading.Lock()

    def of(self, repo_path: str) -> list[Outline]:
        """The conversations about this folder, newest first; files that are none are left out."""
        with self._reading:
            stamps = self._files.stamps()
            known = {number: self._outlined(number, stamp) for number, stamp in stamps.items()}
            self._known = known
        outlines = [found for _, found in known.values() if found and found.repo_path == repo_path]
        return sorted(outlines, key=lambda each: (each.time_ms, each.conversation_id), reverse=True)

    def read(self, conversation_id: int, repo_path: str) -> HistoryFile:
        """One conversation about this folder.

        Raises WrongParam if there is none, StorageError if its file cannot be read.
        """
        content = self._files.read(conversation_id)
        try:
            found = History.read(content, conversation_id) if content is not None else None
        except UnreadableHistory as error:
            path = self._files.history_file(conversation_id)
            raise StorageError(f"{path} is no conversation: {error}") from error
        if found is None or found.repo_path != repo_path:
            raise WrongParam(f"There is no conversation {conversation_id} about this repository.")
        return found.entries

    def _outlined(self, number: int, stamp: _Stamp) -> tuple[_Stamp, Outline | None]:
        before = self._known.get(number)
        if before and before[0] == stamp:
            return before
        try:
            entries = entries_of(self._files.read(number) or b"")
        except (StorageError, UnreadableHistory):
            return stamp, None
        return stamp, _outline(number, entries, stamp)


def _outline(number: int, entries: HistoryFile, stamp: _Stamp) -> Outline:
    """A conversation whose first question is still being answered is as old as its file."""
    turns = entries.history
    return Outline(
        conversation_id=number,
        topic=entries.topic[:TOPIC_CHARACTERS],
        time_ms=turns[-1].time if turns else stamp[0] // _MS_PER_NS,
        turns=len(turns),
        repo_path=entries.repo_path,
    )
