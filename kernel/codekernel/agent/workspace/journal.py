"""The undo journal: every file change of an agent is recorded before it happens, and can be undone.

After a crash the file's hash shows whether the change took place.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from codekernel.agent.tool_policy import ToolError, format_os_error
from codekernel.agent.workspace.atomic_write import make_temporary_name, move_entry, replace_file
from codekernel.agent.workspace.journal_file import ChangeJournalFile
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.temporary_files import TemporaryFileLog
from codekernel.agent.workspace.text_file import hash_bytes, read_file_bytes
from codekernel.domain.confinement.confined_path import ConfinedPath
from codekernel.domain.confinement.folder_handle import FolderHandle

CHANGED, CREATED, DELETED, FOLDERS = "changed", "created", "deleted", "folders"

_MAX_UNDO_BYTES = 1 << 40


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
        self._changes = {change.number: change for change in _load_changes(self._file)}

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
    def record_edit(self, tool: str, path: Path, before: bytes, after: bytes) -> Iterator[str]:
        """Record an edit, which the block must write.

        Yields a name for a temporary file beside the file.
        """
        shas = hash_bytes(before), hash_bytes(after)
        with (
            self._record(tool, CHANGED, path, shas=shas, content=before),
            self._reserve_temporary(path) as temporary,
        ):
            yield temporary

    @contextmanager
    def record_creation(
        self, tool: str, path: Path, after: bytes, folders: tuple[Path, ...] = ()
    ) -> Iterator[str]:
        """Record the creation of a file and of its missing folders; used as ``record_edit``."""
        with (
            self._record(tool, CREATED, path, shas=("", hash_bytes(after)), folders=folders),
            self._reserve_temporary(path) as temporary,
        ):
            yield temporary

    @contextmanager
    def record_folders(self, tool: str, folders: tuple[Path, ...]) -> Iterator[None]:
        """Record that folders are created, outermost first."""
        with self._record(tool, FOLDERS, folders[-1], folders=folders):
            yield

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

    def undo_last(self) -> ChangeRecord | None:
        """Undo the last change and return it; None if there is none.

        Raises ToolError, and changes nothing, if the file has been changed by others since.
        """
        with self._lock:
            if not self._changes:
                return None
            change = self._changes[max(self._changes)]
            self.undo(change)
            return change

    def undo(self, change: ChangeRecord) -> None:
        """Undo one of ``changes``; later ones of the same file must be undone before.

        Raises ToolError, and changes nothing, if the file has been changed by others since.
        """
        with self._lock:
            try:
                self._undo_change(change)
            except OSError as error:
                raise ToolError(format_os_error(error, change.path)) from error
            self._discard(change.number)

    def undo_all(self) -> list[ChangeRecord]:
        """Undo every change, newest first. Raises ToolError at one that cannot be undone."""
        undone = []
        while change := self.undo_last():
            undone.append(change)
        return undone

    @contextmanager
    def _record(  # noqa: PLR0913 - what a line of the journal has
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
            number = self._file.last_number + 1
            shown = tuple(self._root.format_path(folder) for folder in folders)
            change = ChangeRecord(number, tool, kind, self._root.format_path(path), *shas, shown)
            self._file.append_change(asdict(change), content)
            self._changes[number] = change
            # Still within the lock: of two calls that change one file, the second sees the first.
            try:
                yield number
            except BaseException:
                self._discard(number)
                raise

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


def _load_changes(file: ChangeJournalFile) -> Iterator[ChangeRecord]:
    for entry in file.list_changes():
        with suppress(TypeError, KeyError):  # not a change record
            yield ChangeRecord(**{**entry, "folders": tuple(entry["folders"])})


def _build_conflict_error(change: ChangeRecord) -> ToolError:
    return ToolError(
        f"{change.path} has been changed by others since {change.tool} wrote it, so that this"
        " cannot be undone without losing their work."
    )
