"""Retry what the disk has refused, on one thread with backoff, until all of it is saved."""

import logging
import threading
from collections.abc import Callable

from codekernel.errors import KernelError

logger = logging.getLogger(__name__)

# Room may come back at any moment, or not for hours. A try costs the writing of a small file.
MIN_BACKOFF_SECONDS = 1.0

MAX_BACKOFF_SECONDS = 30.0


class SaveRetryThread:
    """Retries what the disk has refused, from ``start`` until all of it is saved, or ``finish``."""

    def __init__(self) -> None:
        self._savers: list[Callable[[], str]] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def add_saver(self, save: Callable[[], str]) -> None:
        """Call ``save`` at every try; it returns what the disk refused, or ""."""
        self._savers.append(save)

    def start(self) -> None:
        """Start the thread, because there is something to save."""
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="save", daemon=True)
                self._thread.start()

    def finish(self) -> str:
        """Try a last time, at once; return what was refused, or ""."""
        self._stopping.set()
        return self._try_save()

    def _run(self) -> None:
        wait_seconds = MIN_BACKOFF_SECONDS
        while not self._stopping.wait(wait_seconds):
            with self._lock:  # what comes after a success begins another thread
                if not self._try_save():
                    logger.info("all refused writes are saved now")
                    self._thread = None
                    return
            wait_seconds = min(2 * wait_seconds, MAX_BACKOFF_SECONDS)

    def _try_save(self) -> str:
        try:
            refusals = [save() for save in self._savers]
            return next(filter(None, refusals), "")
        except (KernelError, OSError) as error:
            return str(error) or type(error).__name__
