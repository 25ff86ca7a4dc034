"""``codekernel eval``: how well search finds what the repository's own commits changed.

Nothing is written but the index, which a search in the same folder uses as well.
"""

import logging
import os
import sys

from kernel.cli.safe_streams import write_styled
from kernel.cli.serve import ONE_THREAD
from kernel.domain.terminal_text import escape_line
from kernel.errors import KernelError
from kernel.storage.user_data import open_user_data


def evaluate(
    user_data_argument: str | None, folder: str | None, most: int, *, as_json: bool
) -> int:
    """Print what was found; 0 if something was, 1 if the repository cannot be asked."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    for name, value in ONE_THREAD.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    from kernel.cli.eval_run import evaluated  # noqa: PLC0415 - imports numpy

    user_data = open_user_data(user_data_argument, os.environ)
    try:
        report = evaluated(user_data, folder, most, _tell)
    except KernelError as error:
        _tell_end(f"PROBLEM: {error}")
        return 1
    _tell_end("")
    for line in [report.json()] if as_json else report.lines():
        print(line if as_json else escape_line(line))
    return 0


def _tell(text: str) -> None:
    """Progress, on one line of a terminal; a log file would be flooded."""
    if sys.stderr.isatty():
        write_styled(sys.stderr, f"\r\x1b[K{escape_line(text)}")
        sys.stderr.flush()


def _tell_end(text: str) -> None:
    """The end of progress, and a last word."""
    if sys.stderr.isatty():
        write_styled(sys.stderr, "\r\x1b[K")
    if text:
        sys.stderr.write(f"{escape_line(text)}\n")
    sys.stderr.flush()
