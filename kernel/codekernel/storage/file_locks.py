"""Locks between processes.

The lock held for as long as a process owns a folder, and the one held while the vault is
opened.
"""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.os_errors import explain_os_error
from codekernel.storage.quarantine import clear_folder_path, clear_lock_path
from codekernel.storage.user_data import FILE_MODE, make_private_folder

if TYPE_CHECKING:
    from filelock import BaseFileLock

_logger = logging.getLogger(__name__)


class ProcessLock:
    """Taken without waiting and kept until released or until the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: BaseFileLock | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock."""
        return self._lock is not None and self._lock.is_locked

    def try_acquire_or_log(self) -> bool:
        """Take the lock if it is free; false if another holds it or it cannot be taken."""
        try:
            return self.try_acquire()
        except StorageError as error:
            _logger.warning("userData cannot be locked. %s", error)
            return False

    def try_acquire(self) -> bool:
        """Take the lock if it is free; false if another holds it.

        Raises StorageError where no lock can be taken at all.
        """
        from filelock import FileLock, Timeout  # noqa: PLC0415  # costs start-up time

        if self.is_held:
            return True
        clear_folder_path(self._path.parent)
        make_private_folder(self._path.parent)
        clear_lock_path(self._path)
        try:
            # thread_local would hide the lock from every thread but the one that took it.
            self._lock = FileLock(self._path, mode=FILE_MODE, thread_local=False)
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        except OSError as error:
            raise explain_os_error(error, self._path) from error
        return True

    def release(self) -> None:
        """Let the next kernel have it; harmless when not held."""
        if self._lock is not None:
            self._lock.release(force=True)


# Longer than the keyring's limits added up, so a slow keyring next door is waited for.
OPENING_LOCK_TIMEOUT_SECONDS = 30.0

_UNWRITABLE_ERRNOS = {errno.EROFS, errno.ENOSPC}


@contextmanager
def hold_opening_lock(path: Path) -> Iterator[None]:
    """Hold the lock at ``path``; its folder must exist."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  # costs start-up time

    clear_lock_path(path)
    lock = FileLock(path, timeout=OPENING_LOCK_TIMEOUT_SECONDS, mode=FILE_MODE, thread_local=False)
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
        # Nothing can be made here by another process either; what there is can be read.
    try:
        yield
    finally:
        lock.release()
