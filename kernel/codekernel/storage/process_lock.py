"""Locks between processes: files that one process holds until it releases them or ends."""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock

from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.quarantine import clear_lock_path, clear_parent_folders
from codekernel.storage.safe_files import (
    FILE_MODE,
    explain_os_error,
    make_private_folder,
    translate_os_errors,
)

logger = logging.getLogger(__name__)


class ProcessLock:
    """A lock file, acquired without waiting and held until released or the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: BaseFileLock | None = None
        self._inode = 0

    @property
    def is_in_place(self) -> bool:
        """Return whether the lock is held, and its file is still the one at its path."""
        try:
            return self.is_held and self._path.stat().st_ino == self._inode
        except OSError:
            return False

    @property
    def is_held(self) -> bool:
        """Return whether this object holds the lock."""
        return self._lock is not None and self._lock.is_locked

    def try_acquire_or_log(self) -> bool:
        """Acquire the lock if it is free; false if another process holds it or on an error."""
        try:
            return self.try_acquire()
        except StorageError as error:
            logger.warning("%s cannot be locked. %s", self._path, error)
            return False

    def try_acquire(self) -> bool:
        """Acquire the lock if it is free; false if another process holds it.

        Raises StorageError where no lock can be acquired at all.
        """
        if self.is_held:
            return True
        clear_parent_folders(self._path.parent)
        make_private_folder(self._path.parent)
        with translate_os_errors(self._path):
            try:
                self._lock = _acquire_lock(self._path, 0)
            except TimeoutError:
                return False
            self._inode = self._path.stat().st_ino
        return True

    def release(self) -> None:
        """Release the lock; harmless when not held."""
        if self._lock is not None:
            self._lock.release(force=True)


# Longer than the keyring's limits added up, so that a process with a slow keyring is waited for.
OPENING_LOCK_TIMEOUT_SECONDS = 30.0

_UNWRITABLE_ERRNOS = {errno.EROFS, errno.ENOSPC}


@contextmanager
def hold_opening_lock(
    path: Path, timeout_seconds: float = OPENING_LOCK_TIMEOUT_SECONDS
) -> Iterator[None]:
    """Hold the lock at ``path``, whose folder must exist. Raises VaultUnavailable."""
    lock = None
    try:
        lock = _acquire_lock(path, timeout_seconds)
    except TimeoutError as error:
        raise VaultUnavailable(
            f"Another codekernel has been opening the vault in {path.parent} for a long time:"
            " try again, or end that process if it hangs."
        ) from error
    except OSError as error:
        if error.errno not in _UNWRITABLE_ERRNOS:
            raise explain_os_error(error, path) from error
        # No other process can write here either; what there is can be read.
    try:
        yield
    finally:
        if lock:
            lock.release()


def _acquire_lock(path: Path, timeout_seconds: float) -> BaseFileLock:
    """Lock the file at ``path``. Raises TimeoutError, another OSError, or StorageError."""
    clear_lock_path(path)
    # thread_local would hide the lock from every thread but the one that acquired it.
    lock = FileLock(path, timeout=timeout_seconds, mode=FILE_MODE, thread_local=False)
    lock.acquire()
    return lock
