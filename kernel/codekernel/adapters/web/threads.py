"""Start daemon threads whose exceptions are passed to a callback."""

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)


def start_thread(
    name: str, work: Callable[[], object], on_crash: Callable[[BaseException], object]
) -> None:
    """Run ``work`` on a daemon thread; ``on_crash`` gets its exception."""

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the guard of this thread: the owner decides
            on_crash(error)

    threading.Thread(target=guarded, name=name, daemon=True).start()


def log_crash(error: BaseException) -> None:
    """Log the exception of a thread that has no other handler."""
    logger.error("a thread of the web host failed", exc_info=error)
