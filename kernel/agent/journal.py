"""What an agent has done to files, and how to undo it: each change is noted before it happens.

    <folder>/journal.jsonl     one line per change: what, where, digests before and after
    <folder>/<number>.before   the content before, or what was deleted, moved here whole

A change that a crash cut off is told by the file itself: it is as before, or as after.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from kernel.agent.failing import ToolFailed, said_by_system
from kernel.agent.moving import move
from kernel.agent.root import Root
from kernel.agent.text_file import digest, read_bytes
from kernel.agent.writing import create, replace
from kernel.protocol.plain_json import dumped, loaded
from kernel.storage.failures import explain
from kernel.storage.private_folder import make_private_folder

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
        self._folder = folder
        self._root = root
        self._lock = threading.RLock()
        self._changes: dict[int, Change] = {}
        self._last = 0
        self._read()

    @classmethod
    def under(cls, user_data: Path, session: str, root: Root) -> "Journal":
        """The journal of an agent session, in its place under userData."""
        return cls(user_data / "agent" / "journals" / session, root)

    @property
    def changes(self) -> list[Change]:
        """What could be undone, oldest first."""
        with self._lock:
            return list(self._changes.values())

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
            move(path, self._kept(number))

    def undo_last(self) -> Change | None:
        """Undo the last change and say which; None if there is none.

        Raises ToolFailed, and changes nothing, if the file has been changed by others since.
        """
        with self._lock:
            if not self._changes:
                return None
            change = self._changes[max(self._changes)]
            try:
                self._undo(change)
            except OSError as error:
                raise ToolFailed(said_by_system(error, change.path)) from error
            self._settle(change.number)
            return change

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
            self._last += 1
            number = self._last
            shown = tuple(self._root.shown(folder) for folder in folders)
            change = Change(number, tool, kind, self._root.shown(path), *shas, shown)
            self._make_folder()
            if content is not None:
                self._keep(number, content)
            self._append(asdict(change))
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
        before = self._kept(change.number).read_bytes()
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
        kept = self._kept(change.number)
        if not os.path.lexists(kept):  # a crash came before the deletion
            return
        if os.path.lexists(path):
            raise _changed_since(change)
        path.parent.mkdir(parents=True, exist_ok=True)
        move(kept, path)

    def _settle(self, number: int) -> None:
        """Forget a change that was undone, or that never happened."""
        with self._lock:
            # If a power cut takes this line, undoing again finds nothing to do.
            self._append({"settled": number}, is_urgent=False)
            self._changes.pop(number, None)
            kept = self._kept(number)
            with suppress(OSError):
                if kept.is_file() and not kept.is_symlink():
                    kept.unlink()

    def _read(self) -> None:
        try:
            lines = self._file.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise explain(error, self._file) from error
        for line in lines:
            try:
                entry = loaded(line)
                if "settled" in entry:
                    self._changes.pop(entry["settled"], None)
                    continue
                change = Change(**{**entry, "folders": tuple(entry["folders"])})
            except (ValueError, TypeError, KeyError):
                continue  # cut off by a crash, before the change it was to note
            self._changes[change.number] = change
            self._last = max(self._last, change.number)

    @property
    def _file(self) -> Path:
        return self._folder / "journal.jsonl"

    def _kept(self, number: int) -> Path:
        return self._folder / f"{number}.before"

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            make_private_folder(self._folder)

    def _keep(self, number: int, content: bytes) -> None:
        kept = self._kept(number)
        try:
            kept.unlink(missing_ok=True)  # of a change whose line a crash cut off
            create(kept, content, 0o600)
        except OSError as error:
            raise explain(error, kept) from error

    def _append(self, entry: object, *, is_urgent: bool = True) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(self._file, flags, 0o600)
            with open(descriptor, "ab") as file:  # noqa: PTH123 - a descriptor is not a path
                # A line that a crash cut off must not swallow this one.
                file.write(b"\n" + dumped(entry) + b"\n")
                file.flush()
                if is_urgent:
                    os.fsync(descriptor)
        except OSError as error:
            raise explain(error, self._file) from error


def _changed_since(change: Change) -> ToolFailed:
    return ToolFailed(
        f"{change.path} has been changed by others since {change.tool} wrote it, so that this"
        " cannot be undone without losing their work."
    )
