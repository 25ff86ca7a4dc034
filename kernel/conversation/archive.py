"""The conversations there are about a repository: listed without reading them twice, and read."""

import threading
from dataclasses import dataclass, replace

from kernel.conversation.history import Histories
from kernel.conversation.unsaved import UnsavedEdits
from kernel.errors import StorageError, WrongParam
from kernel.protocol.history_file import HistoryFile, UnreadableHistory, entries_of
from kernel.protocol.history_salvage import salvage_history
from kernel.storage.conversations import ConversationFiles

# Characters of a topic in a list. It is a whole question, and may be a pasted page.
TOPIC_CHARACTERS = 300
_MS_PER_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Outline:
    """A conversation as a list shows it; ``time_ms`` is that of its last turn.

    ``damage`` says why its file cannot be read whole, ``is_unsaved`` that turns wait for the disk.
    """

    conversation_id: int
    topic: str
    time_ms: int
    turns: int
    repo_path: str
    damage: str = ""
    is_unsaved: bool = False


# When a file was last written and how long it is: the same again means the same content.
_Stamp = tuple[int, int]


class Archive:
    """The histories of one userData folder; any thread may ask.

    A file is read when it is first listed and whenever it has changed since.
    """

    def __init__(self, files: ConversationFiles, unsaved: UnsavedEdits | None = None) -> None:
        self._files = files
        self._unsaved = unsaved or UnsavedEdits()
        self._histories = Histories(files, self._unsaved)
        self._known: dict[int, tuple[_Stamp, Outline | None]] = {}
        self._reading = threading.Lock()

    def of(self, repo_path: str) -> list[Outline]:
        """The conversations about this folder, newest first; files that are none are left out."""
        with self._reading:
            stamps = self._files.stamps()
            known = {number: self._outlined(number, stamp) for number, stamp in stamps.items()}
            self._known = known
        outlines = {number: found for number, (_, found) in known.items() if found}
        for number in self._unsaved.conversation_ids():
            if found := self._with_unsaved(number, outlines.get(number)):
                outlines[number] = found
        found_here = [each for each in outlines.values() if each.repo_path == repo_path]
        return sorted(
            found_here, key=lambda each: (each.time_ms, each.conversation_id), reverse=True
        )

    def damages(self) -> dict[str, str]:
        """Each file that cannot be read whole, by its name, and why; as of the last listing."""
        with self._reading:
            known = dict(self._known)
        found = {}
        for number, (_, outline) in known.items():
            damage = outline.damage if outline else self._histories.damage_of(number)
            if damage:
                found[self._files.history_file(number).name] = damage
        return found

    def read(self, conversation_id: int, repo_path: str) -> HistoryFile:
        """One conversation about this folder; of a damaged one, what can be read of it.

        Raises WrongParam if there is none, StorageError if its file cannot be read now.
        """
        found = self._histories.read(conversation_id)
        if found is None and (damage := self._histories.damage_of(conversation_id)):
            path = self._files.history_file(conversation_id)
            raise StorageError(f"{path} is no conversation: {damage}")
        if found is None or found.repo_path != repo_path:
            raise WrongParam(f"There is no conversation {conversation_id} about this repository.")
        return found.entries

    def _outlined(self, number: int, stamp: _Stamp) -> tuple[_Stamp, Outline | None]:
        before = self._known.get(number)
        if before and before[0] == stamp:
            return before
        try:
            content = self._files.read(number) or b""
        except StorageError:
            return stamp, None
        try:
            return stamp, _outline(number, entries_of(content), stamp)
        except UnreadableHistory as error:
            salvaged = salvage_history(content, number)
            if salvaged is None:
                return stamp, None
            outline = _outline(number, salvaged.entries, stamp)
            return stamp, replace(outline, damage=str(error) or "unreadable")

    def _with_unsaved(self, number: int, outline: Outline | None) -> Outline | None:
        try:
            history = self._histories.read(number)
        except StorageError:
            return outline
        if history is None:
            return outline
        damage = outline.damage if outline else ""
        return replace(_outline(number, history.entries, (0, 0)), damage=damage, is_unsaved=True)


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
