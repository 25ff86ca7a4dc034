"""The progress bar of a first search: one line of a terminal, written over and taken away."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from kernel.cli.safe_streams import write_styled
from kernel.cli.search_terminal import can_redraw

# Work that is done sooner needs no bar; one that flashes by only disturbs.
QUIET_SECONDS = 0.3
# Before that an estimate would jump.
ESTIMATE_AFTER_SECONDS = 1.0
BAR_COLUMNS = 20

_CLEAR_LINE = "\r\x1b[K"
_MINUTE, _HOUR = 60, 3600


@dataclass(frozen=True, slots=True)
class Reached:
    """How far indexing is: files of how many, chunks so far, and the share of all the work."""

    files: int
    of_files: int
    chunks: int
    share: float


class Bar:
    """Draws only where a line can be redrawn; what it shows never goes back."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._enabled = can_redraw(stream, os.environ)
        self._clock = clock
        self._began = clock()
        self._share = 0.0
        self._files = 0
        self._drawn = ""

    def show(self, reached: Reached) -> None:
        """Draw, if there is something to tell and it has changed."""
        elapsed = self._clock() - self._began
        if not self._enabled or elapsed < QUIET_SECONDS or not reached.of_files:
            return
        self._share = max(self._share, min(reached.share, 1.0))
        self._files = max(self._files, reached.files)
        line = bar_line(self._share, self._files, reached, elapsed)
        if line != self._drawn:
            self._drawn = line  # first, for Ctrl-C may come while it is written
            self._write(_CLEAR_LINE + line)

    def clear(self) -> None:
        """Take the bar away."""
        if self._drawn:
            self._write(_CLEAR_LINE)
            self._drawn = ""

    def _write(self, text: str) -> None:
        write_styled(self._stream, text)
        self._stream.flush()


def bar_line(share: float, files: int, reached: Reached, elapsed: float) -> str:
    """What the bar says; short enough for 80 columns."""
    full = round(share * BAR_COLUMNS)
    left = ""
    if elapsed >= ESTIMATE_AFTER_SECONDS and 0 < share < 1:
        left = f", {duration(elapsed * (1 - share) / share)} left"
    return (
        f"indexing [{'#' * full}{'-' * (BAR_COLUMNS - full)}] {share:4.0%}"
        f" {files}/{max(files, reached.of_files)} files, {reached.chunks} chunks{left}"
    )


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < _MINUTE:
        return f"{max(1, round(seconds))} s"
    if seconds < _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    return f"{seconds / _HOUR:.1f} h"
