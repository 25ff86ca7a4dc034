"""Start daemon threads whose exceptions are passed to a callback."""

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)


def start_thread(
    name: str, work: Callable[[], object], on_crash: Callable[[BaseException], object]
) -> None:
    """Do the work on a thread of its own; ``on_crash`` gets whatever it raises."""

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the guard of this thread: the owner decides
            on_crash(error)

    threading.Thread(target=guarded, name=name, daemon=True).start()


def log_crash(error: BaseException) -> None:
    """For work that nobody waits for."""
    logger.error("a thread of the web door failed", exc_info=error)
