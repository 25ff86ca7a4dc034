"""Log of temporary files that are being written into repositories.

Each is recorded before it is created, and the next start removes those of processes that are
gone.
"""

import atexit
import json
import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.atomic_write import TEMPORARY_PREFIX, TEMPORARY_SUFFIX
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.errors import StorageError
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.safe_files import make_private_folder

logger = logging.getLogger(__name__)

_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)

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
