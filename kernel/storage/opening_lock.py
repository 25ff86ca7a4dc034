"""The moment in which a vault is opened or made, one process at a time."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.errors import VaultUnavailable
from kernel.storage.failures import explain
from kernel.storage.private_folder import FILE_MODE
from kernel.storage.set_aside import clear_lock_name

# Longer than the keyring's limits added up, so a slow keyring next door is waited for.
WAIT_LIMIT_SECONDS = 30.0
_NOTHING_CAN_BE_MADE = {errno.EROFS, errno.ENOSPC}


@contextmanager
def opening_lock(path: Path) -> Iterator[None]:
    """Hold the lock at ``path``; its folder must exist."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  # costs start-up time

    clear_lock_name(path)
    lock = FileLock(path, timeout=WAIT_LIMIT_SECONDS, mode=FILE_MODE, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise VaultUnavailable(
            f"Another codekernel has been opening the vault in {path.parent} for a long time:"
            " try again, or end that process if it hangs."
        ) from error
    except OSError as error:
        if error.errno not in _NOTHING_CAN_BE_MADE:
            raise explain(error, path) from error
        # Nothing can be made here by another process either; what there is can be read.
    try:
        yield
    finally:
        lock.release()
