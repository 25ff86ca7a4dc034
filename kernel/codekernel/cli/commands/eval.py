"""``codekernel eval``: measure how well search finds the files.

That the repository's own commits changed. Writes nothing but the index.
"""

import logging
import os
import sys

from codekernel.cli.commands.serve import SINGLE_THREAD_ENV
from codekernel.cli.output.terminal import write_styled
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import KernelError
from codekernel.storage.user_data import open_user_data


def run_eval(
    user_data_argument: str | None, folder: str | None, max_commits: int, *, as_json: bool
) -> int:
    """Print what was found; 0 if something was, 1 if the repository cannot be asked."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    for name, value in SINGLE_THREAD_ENV.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    from codekernel.cli.evaluation import evaluate_repository  # noqa: PLC0415 - imports numpy

    user_data = open_user_data(user_data_argument, os.environ)
    try:
        report = evaluate_repository(user_data, folder, max_commits, _show_progress)
    except KernelError as error:
        _end_progress(f"PROBLEM: {error}")
        return 1
    _end_progress("")
    for line in [report.to_json()] if as_json else report.format_lines():
        print(line if as_json else escape_line(line))
    return 0


def _show_progress(text: str) -> None:
    """Progress, on one line of a terminal; a log file would be flooded."""
    if sys.stderr.isatty():
        write_styled(sys.stderr, f"\r\x1b[K{escape_line(text)}")
        sys.stderr.flush()


def _end_progress(text: str) -> None:
    """The end of progress, and a last word."""
    if sys.stderr.isatty():
        write_styled(sys.stderr, "\r\x1b[K")
    if text:
        sys.stderr.write(f"{escape_line(text)}\n")
    sys.stderr.flush()
