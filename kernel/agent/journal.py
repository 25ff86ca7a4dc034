"""What an agent has done to files, and how to undo it: each change is noted before it happens.

A change that a crash cut off is told by the file itself: it is as before, or as after.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from kernel.agent.failing import ToolFailed, said_by_system
from kernel.agent.journal_file import JournalFile
from kernel.agent.moving import move
from kernel.agent.root import Root
from kernel.agent.text_file import digest, read_bytes
from kernel.agent.unfinished_writes import UnfinishedWrites
from kernel.agent.writing import replace, temporary_name
from kernel.domain.confinement.beneath import Place
from kernel.domain.confinement.folder_handle import FolderHandle

CHANGED, CREATED, DELETED, FOLDERS = "changed", "created", "deleted", "folders"
_ANY_SIZE = 1 << 40


@dataclass(frozen=True, slots=True)
class Change:
    """One noted change; paths are relative to the root, digests are sha256 or empty."""

    number: int
    tool: str
    kind: str
    path: str
    sha256_before: str = ""
    sha256_after: str = ""
    # Folders that were made on the way, outermost first.
    folders: tuple[str, ...] = ()


class Journal:
    """The changes of one agent session; a journal found in ``folder`` is continued."""

    def __init__(
        self, folder: Path, root: Root, unfinished: UnfinishedWrites | None = None
    ) -> None:
        self._file = JournalFile(folder)
        self._root = root
        self._lock = threading.RLock()
        self._unfinished = unfinished or UnfinishedWrites(folder / "unfinished")
        self._unfinished.remove_left()
        self._changes = {change.number: change for change in _read(self._file)}

    @classmethod
    def under(cls, user_data: Path, session: str, root: Root) -> "Journal":
        """The journal of an agent session, in its place under userData."""
        folder = user_data / "agent" / "journals" / session
        return cls(folder, root, UnfinishedWrites.under(user_data))

    @property
    def changes(self) -> list[Change]:
        """What could be undone, oldest first."""
        with self._lock:
            return list(self._changes.values())

    @property
    def next_number(self) -> int:
        """The number that the next change will have."""
        return self._file.last + 1

    @contextmanager
    def changing(self, tool: str, path: Path, before: bytes, after: bytes) -> Iterator[str]:
        """Note that a file gets another content; the block must write it.

        It may use the name it gets for a temporary file beside it.
        """
        shas = digest(before), digest(after)
        with (
            self._noted(tool, CHANGED, path, shas=shas, content=before),
            self._temporary_beside(path) as temporary,
        ):
            yield temporary

    @contextmanager
    def creating(
        self, tool: str, path: Path, after: bytes, folders: tuple[Path, ...] = ()
    ) -> Iterator[str]:
        """Note that a file is made, with these folders on the way to it; the same holds."""
        with (
            self._noted(tool, CREATED, path, shas=("", digest(after)), folders=folders),
            self._temporary_beside(path) as temporary,
        ):
            yield temporary

    @contextmanager
    def making(self, tool: str, folders: tuple[Path, ...]) -> Iterator[None]:
        """Note that folders are made, outermost first."""
        with self._noted(tool, FOLDERS, folders[-1], folders=folders):
            yield

    def delete(self, tool: str, place: Place) -> None:
        """Take a file, a link or a whole folder away, into the journal. Raises OSError."""
        with (
            self._noted(tool, DELETED, place.path) as number,
            self._temporary_beside(place.path) as temporary,
            FolderHandle.open(self._file.folder, follow=True) as kept,
        ):
            move(place.parent, place.name, kept, self._file.kept(number).name, temporary)

    def undo_last(self) -> Change | None:
        """Undo the last change and say which; None if there is none.

        Raises ToolFailed, and changes nothing, if the file has been changed by others since.
        """
        with self._lock:
            if not self._changes:
                return None
            change = self._changes[max(self._changes)]
            self.undo(change)
            return change

    def undo(self, change: Change) -> None:
        """Undo one of ``changes``; later ones of the same file must be undone before.

        Raises ToolFailed, and changes nothing, if the file has been changed by others since.
        """
        with self._lock:
            try:
                self._undo(change)
            except OSError as error:
                raise ToolFailed(said_by_system(error, change.path)) from error
            self._settle(change.number)

    def undo_all(self) -> list[Change]:
        """Undo every change, newest first, up to one that cannot be undone (ToolFailed)."""
        undone = []
        while change := self.undo_last():
            undone.append(change)
        return undone

    @contextmanager
    def _noted(  # noqa: PLR0913 - what a line of the journal has
        self,
        tool: str,
        kind: str,
        path: Path,
        *,
        shas: tuple[str, str] = ("", ""),
        content: bytes | None = None,
        folders: tuple[Path, ...] = (),
    ) -> Iterator[int]:
        with self._lock:
            number = self._file.last + 1
            shown = tuple(self._root.shown(folder) for folder in folders)
            change = Change(number, tool, kind, self._root.shown(path), *shas, shown)
            self._file.note(asdict(change), content)
            self._changes[number] = change
            # Still within the lock: of two calls that change one file, the second sees the first.
            try:
                yield number
            except BaseException:
                self._settle(number)
                raise

    @contextmanager
    def _temporary_beside(self, path: Path) -> Iterator[str]:
        """A name for a temporary file there or among what is kept, removed even after a kill."""
        name = temporary_name()
        beside = self._root.shown(path.with_name(name))
        with self._unfinished.noted((self._root.folder, beside), (self._file.folder, name)):
            yield name

    def _undo(self, change: Change) -> None:
        with self._root.reach_real(self._root.folder / change.path) as place:
            if change.kind == DELETED:
                self._put_back(change, place)
                return
            if change.kind == CHANGED:
                self._change_back(change, place)
            elif change.kind == CREATED and place.status is not None:
                data, _ = read_bytes(place, change.path, _ANY_SIZE)
                if digest(data) != change.sha256_after:
                    raise _changed_since(change)
                place.parent.remove_file(place.name)
        for folder in reversed(change.folders):
            with (
                suppress(OSError, ToolFailed),  # something else lies in it by now, or it is a link
                self._root.reach_real(self._root.folder / folder) as place,
            ):
                if place.is_folder:
                    place.parent.remove_folder(place.name)

    def _change_back(self, change: Change, place: Place) -> None:
        before = self._file.content(change.number)
        if place.status is None:
            raise _changed_since(change)
        data, status = read_bytes(place, change.path, _ANY_SIZE)
        now = digest(data)
        if now == change.sha256_before:
            return
        if now != change.sha256_after:
            raise _changed_since(change)
        with self._temporary_beside(place.path) as temporary:
            replace(place, before, status, temporary)

    def _put_back(self, change: Change, place: Place) -> None:
        kept = self._file.kept(change.number)
        if not os.path.lexists(kept):  # a crash came before the deletion
            return
        if place.status is not None:
            raise _changed_since(change)
        with (
            self._temporary_beside(place.path) as temporary,
            FolderHandle.open(self._file.folder, follow=True) as source,
            place.folders_made() as parent,
        ):
            move(source, kept.name, parent, place.name, temporary)

    def _settle(self, number: int) -> None:
        """Forget a change that was undone, or that never happened."""
        with self._lock:
            self._file.settle(number)
            self._changes.pop(number, None)


def _read(file: JournalFile) -> Iterator[Change]:
    for entry in file.changes():
        with suppress(TypeError, KeyError):  # no change of ours
            yield Change(**{**entry, "folders": tuple(entry["folders"])})


def _changed_since(change: Change) -> ToolFailed:
    return ToolFailed(
        f"{change.path} has been changed by others since {change.tool} wrote it, so that this"
        " cannot be undone without losing their work."
    )
