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
from kernel.agent.writing import replace

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

    def __init__(self, folder: Path, root: Root) -> None:
        self._file = JournalFile(folder)
        self._root = root
        self._lock = threading.RLock()
        self._changes = {change.number: change for change in _read(self._file)}

    @classmethod
    def under(cls, user_data: Path, session: str, root: Root) -> "Journal":
        """The journal of an agent session, in its place under userData."""
        return cls(user_data / "agent" / "journals" / session, root)

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
    def changing(self, tool: str, path: Path, before: bytes, after: bytes) -> Iterator[None]:
        """Note that a file gets another content; the block must write it."""
        shas = digest(before), digest(after)
        with self._noted(tool, CHANGED, path, shas=shas, content=before):
            yield

    @contextmanager
    def creating(
        self, tool: str, path: Path, after: bytes, folders: tuple[Path, ...] = ()
    ) -> Iterator[None]:
        """Note that a file is made, with these folders on the way to it."""
        with self._noted(tool, CREATED, path, shas=("", digest(after)), folders=folders):
            yield

    @contextmanager
    def making(self, tool: str, folders: tuple[Path, ...]) -> Iterator[None]:
        """Note that folders are made, outermost first."""
        with self._noted(tool, FOLDERS, folders[-1], folders=folders):
            yield

    def delete(self, tool: str, path: Path) -> None:
        """Take a file, a link or a whole folder away, into the journal. Raises OSError."""
        with self._noted(tool, DELETED, path) as number:
            move(path, self._file.kept(number))

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

    def _undo(self, change: Change) -> None:
        path = self._root.folder / change.path
        if change.kind == DELETED:
            self._put_back(change, path)
            return
        if change.kind == CHANGED:
            self._change_back(change, path)
        elif change.kind == CREATED and os.path.lexists(path):
            data, _ = read_bytes(path, change.path, _ANY_SIZE)
            if digest(data) != change.sha256_after:
                raise _changed_since(change)
            path.unlink()
        for folder in reversed(change.folders):
            with suppress(OSError):  # something else lies in it by now
                (self._root.folder / folder).rmdir()

    def _change_back(self, change: Change, path: Path) -> None:
        before = self._file.content(change.number)
        if not os.path.lexists(path):
            raise _changed_since(change)
        data, status = read_bytes(path, change.path, _ANY_SIZE)
        now = digest(data)
        if now == change.sha256_before:
            return
        if now != change.sha256_after:
            raise _changed_since(change)
        replace(path, before, status)

    def _put_back(self, change: Change, path: Path) -> None:
        kept = self._file.kept(change.number)
        if not os.path.lexists(kept):  # a crash came before the deletion
            return
        if os.path.lexists(path):
            raise _changed_since(change)
        path.parent.mkdir(parents=True, exist_ok=True)
        move(kept, path)

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
