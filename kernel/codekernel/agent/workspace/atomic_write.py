"""Atomic changes to user files: write to a temporary file, fsync, then rename.

Move entries between folders, across devices by copying. A kill leaves the old file or the new
one, and at worst a temporary file. Those are logged, and removed at the next start.
"""

import atexit
import errno
import json
import logging
import os
import re
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.confined_path import ConfinedPath
from codekernel.domain.folder_handle import FolderHandle
from codekernel.errors import StorageError
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.safe_files import (
    make_private_folder,
    rename_without_replacing,
    write_temporary_file,
)

logger = logging.getLogger(__name__)

_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)

TEMPORARY_PREFIX, TEMPORARY_SUFFIX = ".codekernel-", ".tmp"

_TEMPORARY_NAME = re.compile(
    rf"{re.escape(TEMPORARY_PREFIX)}[0-9a-f]{{16}}{re.escape(TEMPORARY_SUFFIX)}"
)

# A process has one userData folder; more of them would keep more descriptors open.
_MAX_WRITERS = 8

# What could not be removed is tried at each start; its disk may be away for a while.
_MAX_AGE_SECONDS = 90 * 24 * 3600

_writers: dict[Path, "_ProcessLog"] = {}

_writers_lock = threading.Lock()


class TemporaryFileLog:
    """The logs of temporary files of all processes, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def from_user_data(cls, user_data: Path) -> "TemporaryFileLog":
        """Return the log at its place under userData."""
        return cls(user_data / "agent" / "unfinished")

    @contextmanager
    def track(self, *files: tuple[Path, str]) -> Iterator[None]:
        """Note files that exist only within the block, each as a root and a path below it.

        Raises OSError, StorageError.
        """
        with _writers_lock:  # under it no log is closed that is written to
            writer = _writers.get(self._folder) or _open_writer(self._folder)
            writer.begin(files)
        try:
            yield
        finally:
            writer.end(len(files))

    def remove_stale(self) -> list[str]:
        """Remove what processes have left that are gone; which files those were."""
        with _writers_lock:
            own = {writer.token for writer in _writers.values()}
        try:
            lists = [path for path in self._folder.iterdir() if path.suffix == ".jsonl"]
        except OSError:  # nothing was ever written, or userData is away
            return []
        return [file for path in lists if path.stem not in own for file in _remove_logged(path)]


class _ProcessLog:
    """The log of this process; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        make_private_folder(folder)
        self.token = secrets.token_hex(8)
        self._process_lock = ProcessLock(folder / f"{self.token}.lock")
        self._process_lock.try_acquire_or_log()
        self._file = folder / f"{self.token}.jsonl"
        self._descriptor = os.open(self._file, _LOG_FLAGS, 0o600)
        self.open_count = 0
        self._lock = threading.Lock()

    def begin(self, files: Sequence[tuple[Path, str]]) -> None:
        lines = "".join(f"{json.dumps([os.fspath(root), path])}\n" for root, path in files)
        with self._lock:
            os.write(self._descriptor, lines.encode("ascii"))
            self.open_count += len(files)

    def close(self) -> None:
        """Close the log and remove it if it is empty."""
        with self._lock:
            notes, self._descriptor = self._descriptor, -1
            os.close(notes)
            self._process_lock.release()
            if not self.open_count:
                for path in (self._file, self._file.with_suffix(".lock")):
                    with suppress(OSError):
                        path.unlink()

    def end(self, count: int) -> None:
        with self._lock:
            self.open_count -= count
            if not self.open_count:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, 0)


def _open_writer(folder: Path) -> _ProcessLog:
    """Open the folder's log, and close idle ones of others if there are too many."""
    idle = [other for other, writer in _writers.items() if not writer.open_count]
    for other in idle[: max(0, len(_writers) - _MAX_WRITERS + 1)]:
        _writers.pop(other).close()
    writer = _writers[folder] = _ProcessLog(folder)
    return writer


@atexit.register
def _close_all_writers() -> None:
    with _writers_lock:
        for writer in _writers.values():
            writer.close()
        _writers.clear()


def _remove_logged(notes: Path) -> list[str]:
    lock = ProcessLock(notes.with_suffix(".lock"))
    try:
        if not lock.try_acquire():  # its process lives
            return []
        removed, is_done = [], True
        for root, path in _read_log(notes):
            try:
                removed += [path] if _remove_temporary(WorkspaceRoot(root), path) else []
            except (OSError, ToolError) as error:
                logger.info("a temporary file of a killed edit cannot be reached now: %s", error)
                is_done = time.time() - notes.stat().st_mtime > _MAX_AGE_SECONDS
        lock.release()
        # A token is never used again, so that no process can be waiting for this lock.
        for done in (notes, notes.with_suffix(".lock")) if is_done else ():
            done.unlink(missing_ok=True)
    except (OSError, StorageError) as error:
        logger.warning("temporary files of killed processes could not be listed: %s", error)
        return []
    return removed


def _read_log(notes: Path) -> Iterator[tuple[Path, str]]:
    for line in notes.read_bytes().splitlines():
        with suppress(ValueError, TypeError):  # a kill in the middle of a line
            root, path = json.loads(line)
            yield Path(root), str(path)


def _remove_temporary(root: WorkspaceRoot, path: str) -> bool:
    """Remove an entry that has a name of our temporary files. Raises OSError, ToolError."""
    if "\0" in path or not _TEMPORARY_NAME.fullmatch(path.rpartition("/")[2]):
        return False
    with root.reach_real(root.folder / path) as place:
        if place.status is None:
            return False
        if place.is_folder:
            place.parent.remove_tree(place.name)
        else:
            place.parent.remove_file(place.name)
    return True


_NEW_FILE_MODE = 0o666  # less the umask, as for every program

_WRITE_BITS = 0o222


def make_temporary_name() -> str:
    """Return a name that nobody has."""
    return f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def replace_file(
    place: ConfinedPath, data: bytes, expected: os.stat_result, temporary: str
) -> os.stat_result:
    """Replace a file that was read in this state, and keep its mode and owner.

    A link would be replaced itself. Raises OSError, and ToolError if the file is protected or has
    been changed since.
    """
    name, parent = place.name, place.parent
    if not expected.st_mode & _WRITE_BITS:
        raise ToolError(f"{name} is write-protected: change its mode first (chmod u+w).")
    with write_temporary_file(parent, temporary, data, _NEW_FILE_MODE, expected) as status:
        if not is_same_state(parent.status(name), expected):
            raise ToolError(f"{name} was changed meanwhile by someone else: read it again.")
        parent.rename(temporary, parent, name)
    return status


def create_file(parent: FolderHandle, name: str, data: bytes, temporary: str) -> os.stat_result:
    """Make a file; raises FileExistsError, and changes nothing, if there is something already."""
    with write_temporary_file(parent, temporary, data, _NEW_FILE_MODE) as status:
        rename_without_replacing(parent, temporary, name)
    return status


def is_same_state(one: os.stat_result, other: os.stat_result) -> bool:
    """Return whether both are of one file that was not written to in between."""
    same_file = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    return same_file and (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


_EXCLUSIVE_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def move_entry(
    source: FolderHandle, name: str, target: FolderHandle, new_name: str, temporary: str
) -> None:
    """Move an entry of one open folder to another; ``temporary`` is the name of a partial copy.

    Raises OSError; then nothing has moved.
    """
    try:
        source.rename(name, target, new_name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_across_devices(source, name, target, new_name, temporary)
    for folder in (source, target):
        with suppress(OSError):  # where a folder can be flushed at all
            folder.flush()


def _move_across_devices(
    source: FolderHandle, name: str, target: FolderHandle, new_name: str, temporary: str
) -> None:
    try:
        _copy_entry(source, name, target, temporary)
        target.rename(temporary, target, new_name)
    except OSError:
        _remove_entry(target, temporary)
        raise
    try:
        source.rename(name, source, temporary)
    except OSError:
        _remove_entry(target, new_name)
        raise
    _remove_entry(source, temporary)


def _copy_entry(source: FolderHandle, name: str, target: FolderHandle, new_name: str) -> None:
    """Copy an entry with its modes and times, links as links. Raises OSError."""
    status = source.status(name)
    if stat.S_ISLNK(status.st_mode):
        target.make_link(new_name, source.read_link(name))
    elif stat.S_ISDIR(status.st_mode):
        with source.open_folder(name, to_list=True) as here:
            target.make_folder(new_name, 0o700)
            with target.open_folder(new_name) as there:
                for entry in here.entries():
                    _copy_entry(here, entry.name, there, entry.name)
        target.set_mode_and_times(new_name, status)
    elif stat.S_ISREG(status.st_mode):
        _copy_file(source, name, target, new_name)
        target.set_mode_and_times(new_name, status)
    else:
        raise OSError(errno.EINVAL, f"{name} is a pipe, a socket or a device: it stays here")


def _copy_file(source: FolderHandle, name: str, target: FolderHandle, new_name: str) -> None:
    with (
        os.fdopen(source.open_file(name), "rb") as taken,
        os.fdopen(target.open_file(new_name, _EXCLUSIVE_CREATE, 0o600), "wb") as made,
    ):
        if not stat.S_ISREG(os.fstat(taken.fileno()).st_mode):
            raise OSError(errno.EINVAL, f"{name} has been replaced by something that is no file")
        shutil.copyfileobj(taken, made)
        _copy_attributes(taken.fileno(), made.fileno())


def _copy_attributes(source: int, target: int) -> None:
    """Copy extended attributes as far as both disks have them."""
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):
        for name in os.listxattr(source):
            os.setxattr(target, name, os.getxattr(source, name))


def _remove_entry(folder: FolderHandle, name: str) -> None:
    """Remove an entry as far as possible; what is left has a name that marks it as ours."""
    with suppress(OSError):
        if stat.S_ISDIR(folder.status(name).st_mode):
            folder.remove_tree(name, ignore_errors=True)
        else:
            folder.remove_file(name)
