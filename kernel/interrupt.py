"""Ctrl-C before a command has a handler of its own: the process ends at once, without a word.

What is on disk is whole at every moment, so there is nothing to tidy up. A KeyboardInterrupt would
be shown as a traceback wherever nothing catches it: while modules are imported, in destructors, in
callbacks of native libraries. Imports nothing that is not loaded already, for ``serve``.
"""

import _signal  # type: ignore[import-not-found] # signal itself imports enum
import os
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130  # as shells count Ctrl-C
_CLEAR_LINE = b"\r\x1b[K"


def end_on_interrupt() -> None:
    """Install the handler; a process that was started to ignore Ctrl-C goes on ignoring it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    try:
        if os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb":
            os.write(2, _CLEAR_LINE)  # a progress bar may stand there
    finally:
        os._exit(INTERRUPTED)
