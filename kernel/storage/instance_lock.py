"""The lock by which a kernel knows that it is the only one serving its userData."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.errors import StorageError
from kernel.storage.failures import explain
from kernel.storage.private_folder import FILE_MODE, make_private_folder
from kernel.storage.set_aside import clear_folder_name, clear_lock_name

if TYPE_CHECKING:
    from filelock import BaseFileLock

_logger = logging.getLogger(__name__)


class InstanceLock:
    """Taken without waiting and kept until released or until the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: BaseFileLock | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._lock is not None and self._lock.is_locked

    def acquire(self) -> bool:
        """Take the lock if it is free; false if another holds it or it cannot be taken."""
        try:
            return self.take()
        except StorageError as error:
            _logger.warning("userData cannot be locked. %s", error)
            return False

    def take(self) -> bool:
        """Take the lock if it is free; false if another holds it.

        Raises StorageError where no lock can be taken at all.
        """
        from filelock import FileLock, Timeout  # noqa: PLC0415  # costs start-up time

        if self.held:
            return True
        clear_folder_name(self._path.parent)
        make_private_folder(self._path.parent)
        clear_lock_name(self._path)
        try:
            # thread_local would hide the lock from every thread but the one that took it.
            self._lock = FileLock(self._path, mode=FILE_MODE, thread_local=False)
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        except OSError as error:
            raise explain(error, self._path) from error
        return True

    def release(self) -> None:
        """Let the next kernel have it; harmless when not held."""
        if self._lock is not None:
            self._lock.release(force=True)
