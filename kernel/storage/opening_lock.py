"""The moment in which a vault is opened or made, one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.errors import VaultUnavailable
from kernel.storage.failures import explain
from kernel.storage.set_aside import clear_lock_name

# Longer than the keyring's limits added up, so a slow keyring next door is waited for.
WAIT_LIMIT_SECONDS = 30.0


@contextmanager
def opening_lock(path: Path) -> Iterator[None]:
    """Hold the lock at ``path``; its folder must exist."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  # costs start-up time

    clear_lock_name(path)
    lock = FileLock(path, timeout=WAIT_LIMIT_SECONDS, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise VaultUnavailable(
            f"Another codekernel has been opening the vault in {path.parent} for a long time:"
            " try again, or end that process if it hangs."
        ) from error
    except OSError as error:
        raise explain(error, path) from error
    try:
        yield
    finally:
        lock.release()
