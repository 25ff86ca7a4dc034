"""Shows what does not fit on the screen in a pager, as git does."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TextIO

# less leaves at once what fits, keeps colors, and leaves the text on the screen.
_LESS_OPTIONS = "FRX"


def find_pager(environ: Mapping[str, str]) -> list[str]:
    """Return the command of the user's pager; none if it is empty, ``cat`` or not installed."""
    if environ.get("TERM") == "dumb":
        return []
    named = (environ.get(name) for name in ("CODEKERNEL_PAGER", "PAGER"))
    command = next((each for each in named if each is not None), "less")
    try:
        words = shlex.split(command)
    except ValueError:  # an open quotation mark
        return []
    if not words or words == ["cat"] or not shutil.which(words[0]):
        return []
    return words


def has_overflow(stream: TextIO, lines: Sequence[str]) -> bool:
    """Return whether lines are more than the terminal shows at once; false for a pipe."""
    if not stream.isatty():
        return False
    with suppress(OSError, ValueError):
        rows = os.get_terminal_size(stream.fileno()).lines
        return 0 < rows <= len(lines)
    return False


def show_in_pager(pager: Sequence[str], lines: Sequence[str]) -> bool:
    """Show lines until the user leaves the pager; false if it cannot be started."""
    environ = {"LESS": _LESS_OPTIONS, "LESSCHARSET": "utf-8", **os.environ}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the pager
    try:
        subprocess.run(
            pager,
            input="".join(f"{line}\n" for line in lines).encode(
                sys.stdout.encoding or "utf-8", "backslashreplace"
            ),
            env=environ,
            check=False,
        )
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
