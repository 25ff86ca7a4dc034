"""Locks between processes: one that owns a folder, and one held while the vault is opened."""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.os_errors import explain_os_error
from codekernel.storage.quarantine import clear_lock_path, clear_parent_folders
from codekernel.storage.user_data import FILE_MODE, make_private_folder

if TYPE_CHECKING:
    from filelock import BaseFileLock

_logger = logging.getLogger(__name__)


class ProcessLock:
    """A lock file, acquired without waiting and held until released or the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: BaseFileLock | None = None

    @property
    def is_held(self) -> bool:
        """Return whether this object holds the lock."""
        return self._lock is not None and self._lock.is_locked

    def try_acquire_or_log(self) -> bool:
        """Acquire the lock if it is free; false if another process holds it or on an error."""
        try:
            return self.try_acquire()
        except StorageError as error:
            _logger.warning("%s cannot be locked. %s", self._path, error)
            return False

    def try_acquire(self) -> bool:
        """Acquire the lock if it is free; false if another process holds it.

        Raises StorageError where no lock can be acquired at all.
        """
        from filelock import FileLock, Timeout  # noqa: PLC0415  # costs start-up time

        if self.is_held:
            return True
        clear_parent_folders(self._path.parent)
        make_private_folder(self._path.parent)
        clear_lock_path(self._path)
        try:
            # thread_local would hide the lock from every thread but the one that acquired it.
            self._lock = FileLock(self._path, mode=FILE_MODE, thread_local=False)
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        except OSError as error:
            raise explain_os_error(error, self._path) from error
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
    from filelock import FileLock, Timeout  # noqa: PLC0415  # costs start-up time

    clear_lock_path(path)
    lock = FileLock(path, timeout=timeout_seconds, mode=FILE_MODE, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
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
        lock.release()
