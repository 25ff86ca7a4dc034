"""The thread that tries again and again to write what no disk has taken yet."""

import logging
import threading
from collections.abc import Callable

from kernel.errors import KernelError

logger = logging.getLogger(__name__)

# Room may come back at any moment, or not for hours. A try costs the writing of a small file.
FIRST_WAIT_SECONDS = 1.0
MAX_WAIT_SECONDS = 30.0


class SaveRetry:
    """Runs from ``begin`` until ``save`` has no more refusal, or until ``end``."""

    def __init__(self, save: Callable[[], str]) -> None:
        self._save = save
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    def begin(self) -> None:
        """There is something to save; returns at once."""
        with self._lock:
            if self._thread is None and not self._ending.is_set():
                self._thread = threading.Thread(target=self._run, name="save", daemon=True)
                self._thread.start()

    def end(self) -> str:
        """Try a last time, at once; returns what was refused, or ""."""
        self._ending.set()
        return self._guarded()

    def _run(self) -> None:
        wait_seconds = FIRST_WAIT_SECONDS
        while not self._ending.wait(wait_seconds):
            with self._lock:  # what comes after a success begins another thread
                if not self._guarded():
                    logger.info("everything that was shown is on the disk again")
                    self._thread = None
                    return
            wait_seconds = min(2 * wait_seconds, MAX_WAIT_SECONDS)

    def _guarded(self) -> str:
        try:
            return self._save()
        except (KernelError, OSError) as error:
            return str(error) or type(error).__name__
