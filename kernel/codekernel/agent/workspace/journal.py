"""The undo journal: every file change of an agent is recorded before it happens, and can be undone.

After a crash the file's hash shows whether the change took place. On disk it is an append-only
journal.jsonl with one line per change, and <number>.before files for content too large for a line
or for deleted entries.
"""

import os
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from codekernel.agent.tool_policy import ToolError, translate_os_errors
from codekernel.agent.workspace.atomic_write import (
    TemporaryFileLog,
    make_temporary_name,
    move_entry,
    replace_file,
)
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import hash_bytes, read_file_bytes
from codekernel.domain.confined_path import ConfinedPath
from codekernel.domain.folder_handle import FolderHandle
from codekernel.errors import StorageError
from codekernel.protocol.envelope import dump_json, load_json
from codekernel.storage.quarantine import clear_parent_folders, quarantine_user_file
from codekernel.storage.safe_files import (
    NotRegularFile,
    explain_os_error,
    fsync_folder,
    make_private_folder,
    open_regular,
    read_regular,
)

CHANGED, CREATED, DELETED, FOLDERS = "changed", "created", "deleted", "folders"

_MAX_UNDO_BYTES = 1 << 40

# Nearly every file that is edited is smaller; a larger one is worth a flush of its own.
_MAX_INLINE_BYTES = 256 * 1024

_NUMBER, _CONTENT, _SETTLED = "number", "before", "settled"

_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One recorded change; paths are relative to the root, digests are sha256 or empty."""

    number: int
    tool: str
    kind: str
    path: str
    sha256_before: str = ""
    sha256_after: str = ""
    # Folders that were made on the way, outermost first.
    folders: tuple[str, ...] = ()


class ChangeJournal:
    """The changes of one agent session; a journal found in ``folder`` is continued."""

    def __init__(
        self, folder: Path, root: WorkspaceRoot, temporary_files: TemporaryFileLog | None = None
    ) -> None:
        self._file = ChangeJournalFile(folder)
        self._root = root
        self._lock = threading.RLock()
        self._temporary_files = temporary_files or TemporaryFileLog(folder / "unfinished")
        self._temporary_files.remove_stale()
        self._changes = self._file.load_changes()

    @classmethod
    def from_user_data(cls, user_data: Path, session: str, root: WorkspaceRoot) -> "ChangeJournal":
        """The journal of an agent session, in its place under userData."""
        folder = user_data / "agent" / "journals" / session
        return cls(folder, root, TemporaryFileLog.from_user_data(user_data))

    @property
    def changes(self) -> list[ChangeRecord]:
        """The changes that could be undone, oldest first."""
        with self._lock:
            return list(self._changes.values())

    @property
    def next_number(self) -> int:
        """The number that the next change will have."""
        return self._file.last_number + 1

    @contextmanager
    def record_write(
        self,
        tool: str,
        path: Path,
        before: bytes | None,
        after: bytes,
        folders: tuple[Path, ...] = (),
    ) -> Iterator[str]:
        """Record that the block writes a file; ``before`` is None for a new one.

        ``folders`` are those made for it. Yields a name for a temporary file beside the file.
        """
        kind = CREATED if before is None else CHANGED
        shas = "" if before is None else hash_bytes(before), hash_bytes(after)
        with (
            self._record(tool, kind, path, shas, content=before, folders=folders),
            self._reserve_temporary(path) as temporary,
        ):
            yield temporary

    def record_folders(
        self, tool: str, folders: tuple[Path, ...]
    ) -> AbstractContextManager[object]:
        """Record that folders are created in the block, outermost first."""
        return self._record(tool, FOLDERS, folders[-1], folders=folders)

    def delete(self, tool: str, place: ConfinedPath) -> None:
        """Move a file, a link or a whole folder into the journal. Raises OSError."""
        with (
            self._record(tool, DELETED, place.path) as number,
            self._reserve_temporary(place.path) as temporary,
            FolderHandle.open(self._file.folder, follow=True) as kept,
        ):
            move_entry(
                place.parent, place.name, kept, self._file.get_before_path(number).name, temporary
            )

    def record_deletion(self, tool: str, path: Path, before: bytes, mode: int) -> None:
        """Record that a file was deleted by others, who left its content to us."""
        with self._record(tool, DELETED, path) as number:
            kept = self._file.get_before_path(number)
            with translate_os_errors(self._root.format_path(path)):
                _write_flushed(kept, os.O_TRUNC, before)
                kept.chmod(mode)

    def undo(self, change: ChangeRecord) -> None:
        """Undo one of ``changes``; later ones of the same file must be undone before.

        Raises ToolError, and changes nothing, if the file has been changed by others since.
        """
        with self._lock:
            with translate_os_errors(change.path):
                self._undo_change(change)
            self._discard(change.number)

    @contextmanager
    def _record(  # noqa: PLR0913 - what a line of the journal has
        self,
        tool: str,
        kind: str,
        path: Path,
        shas: tuple[str, str] = ("", ""),
        *,
        content: bytes | None = None,
        folders: tuple[Path, ...] = (),
    ) -> Iterator[int]:
        with self._lock:
            number = self._file.last_number + 1
            shown = tuple(self._root.format_path(folder) for folder in folders)
            change = ChangeRecord(number, tool, kind, self._root.format_path(path), *shas, shown)
            self._file.append_change(change, content)
            self._changes[number] = change
            # Still within the lock: of two calls that change one file, the second sees the first.
            with ExitStack() as failing:
                failing.callback(self._discard, number)
                yield number
                failing.pop_all()

    @contextmanager
    def _reserve_temporary(self, path: Path) -> Iterator[str]:
        """A name for a temporary file there or among what is kept, removed even after a kill."""
        name = make_temporary_name()
        beside = self._root.format_path(path.with_name(name))
        with self._temporary_files.track((self._root.folder, beside), (self._file.folder, name)):
            yield name

    def _undo_change(self, change: ChangeRecord) -> None:
        with self._root.reach_real(self._root.folder / change.path) as place:
            if change.kind == DELETED:
                self._restore_deleted(change, place)
                return
            if change.kind == CHANGED:
                self._restore_content(change, place)
            elif change.kind == CREATED and place.status is not None:
                data, _ = read_file_bytes(place, change.path, _MAX_UNDO_BYTES)
                if hash_bytes(data) != change.sha256_after:
                    raise _build_conflict_error(change)
                place.parent.remove_file(place.name)
        for folder in reversed(change.folders):
            with (
                suppress(OSError, ToolError),  # something else lies in it by now, or it is a link
                self._root.reach_real(self._root.folder / folder) as place,
            ):
                if place.is_folder:
                    place.parent.remove_folder(place.name)

    def _restore_content(self, change: ChangeRecord, place: ConfinedPath) -> None:
        before = self._file.read_before(change.number)
        if place.status is None:
            raise _build_conflict_error(change)
        data, status = read_file_bytes(place, change.path, _MAX_UNDO_BYTES)
        now = hash_bytes(data)
        if now == change.sha256_before:
            return
        if now != change.sha256_after:
            raise _build_conflict_error(change)
        with self._reserve_temporary(place.path) as temporary:
            replace_file(place, before, status, temporary)

    def _restore_deleted(self, change: ChangeRecord, place: ConfinedPath) -> None:
        kept = self._file.get_before_path(change.number)
        if not os.path.lexists(kept):  # a crash came before the deletion
            return
        if place.status is not None:
            raise _build_conflict_error(change)
        with (
            self._reserve_temporary(place.path) as temporary,
            FolderHandle.open(self._file.folder, follow=True) as source,
            place.create_missing_folders() as parent,
        ):
            move_entry(source, kept.name, parent, place.name, temporary)

    def _discard(self, number: int) -> None:
        """Forget a change that was undone, or that never happened."""
        with self._lock:
            self._file.discard_change(number)
            self._changes.pop(number, None)


def _build_conflict_error(change: ChangeRecord) -> ToolError:
    return ToolError(
        f"{change.path} has been changed by others since {change.tool} wrote it, so that this"
        " cannot be undone without losing their work."
    )


class ChangeJournalFile:
    """Keeps the offsets of contents in the file, not the contents.

    ``last_number`` is the highest number so far: none is used twice, even after it was discarded.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "journal.jsonl"
        self._line_offsets: dict[int, int] = {}
        self.last_number = 0

    def load_changes(self) -> dict[int, ChangeRecord]:
        """Return the changes that were not discarded by number, oldest first.

        Raises StorageError.
        """
        found: dict[int, ChangeRecord] = {}
        for place, entry in self._read_entries():
            settled, number = entry.get(_SETTLED), entry.get(_NUMBER)
            if isinstance(settled, int):
                found.pop(settled, None)
            elif isinstance(number, int):
                self.last_number = max(self.last_number, number)
                if entry.pop(_CONTENT, None) is not None:
                    self._line_offsets[number] = place
                with suppress(TypeError, KeyError):  # not a change record
                    found[number] = ChangeRecord(**{**entry, "folders": tuple(entry["folders"])})
        return found

    def append_change(self, change: ChangeRecord, content: bytes | None = None) -> None:
        """Add a change, with the content before; on the disk afterwards. Raises StorageError."""
        number = self.last_number = change.number
        entry = asdict(change)
        try:
            if not self.folder.is_dir():
                make_private_folder(self.folder)
            if content is None:
                self._append(entry)
            elif len(content) <= _MAX_INLINE_BYTES:
                text = b64encode(content).decode("ascii")
                self._line_offsets[number] = self._append({**entry, _CONTENT: text})
            else:
                # A half-written content does no harm: its line is written after it.
                _write_flushed(self.get_before_path(number), os.O_TRUNC, content)
                fsync_folder(self.folder)
                self._append(entry)
        except OSError as error:
            raise explain_os_error(error, self._file) from error

    def discard_change(self, number: int) -> None:
        """Forget a change that was undone, or that never happened. Raises StorageError."""
        try:
            # If a power cut takes this line, undoing again finds nothing to do.
            self._append({_SETTLED: number}, fsync=False)
        except OSError as error:
            raise explain_os_error(error, self._file) from error
        self._line_offsets.pop(number, None)
        kept = self.get_before_path(number)
        with suppress(OSError):
            if kept.is_file() and not kept.is_symlink():
                kept.unlink()

    def get_before_path(self, number: int) -> Path:
        """Return the path of a content that is not in a line."""
        return self.folder / f"{number}.before"

    def read_before(self, number: int) -> bytes:
        """Return the content of a file before this change. Raises OSError, StorageError."""
        place = self._line_offsets.get(number)
        if place is None:
            return read_regular(self.get_before_path(number))
        with self._file.open("rb") as file:
            file.seek(place)
            line = file.readline()
        try:
            return b64decode(_parse_entry(line)[_CONTENT], validate=True)
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"The journal {self._file} is broken.") from error

    def _read_entries(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each line's offset and entry."""
        place = 0
        try:
            clear_parent_folders(self.folder, 2)
            with os.fdopen(open_regular(self._file), "rb") as file:
                for line in file:
                    yield place, _parse_entry(line)
                    place += len(line)
        except FileNotFoundError:
            return
        except NotRegularFile:
            quarantine_user_file(self._file)
        except OSError as error:
            raise explain_os_error(error, self._file) from error

    def _append(self, entry: object, *, fsync: bool = True) -> int:
        """Add a line; where it begins."""
        # A line that a crash cut off must not swallow this one.
        line = b"\n" + dump_json(entry) + b"\n"
        is_new = not self._file.exists()
        end = _write_flushed(self._file, os.O_APPEND, line, fsync=fsync)
        if is_new:
            fsync_folder(self.folder)
            fsync_folder(self.folder.parent)
        return end - len(line) + 1


def _write_flushed(path: Path, flags: int, data: bytes, *, fsync: bool = True) -> int:
    """Write to the end of a private file; return where that is then."""
    descriptor = os.open(path, _CREATE_FLAGS | flags, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(data)
        file.flush()
        if fsync:
            os.fsync(descriptor)
        return file.tell()


def _parse_entry(line: bytes) -> dict[str, Any]:
    """Parse a line; empty for one that a crash cut off, before the change it was to record."""
    try:
        entry = load_json(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
