"""The progress bar of indexing."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TextIO

from codekernel.cli.output.terminal import StatusLine

# Work that is done sooner needs no bar; one that flashes by only disturbs.
PROGRESS_DELAY_SECONDS = 0.3

# Before that an estimate would jump.
ESTIMATE_DELAY_SECONDS = 1.0

BAR_COLUMNS = 20

_MINUTE, _HOUR = 60, 3600


@dataclass(frozen=True, slots=True)
class IndexingProgress:
    """Files of how many, chunks so far, and the share of all the work."""

    files: int
    total_files: int
    chunks: int
    share: float


class ProgressBar(StatusLine):
    """Drawn only where a line can be redrawn; what it shows never goes back."""

    def __init__(
        self,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__(stream, environ)
        self._clock = clock
        self._started_at = clock()
        self._share = 0.0
        self._files = 0

    def show(self, progress: IndexingProgress) -> None:
        """Draw, if there is something to show and it has changed."""
        elapsed = self._clock() - self._started_at
        if elapsed >= PROGRESS_DELAY_SECONDS and progress.total_files:
            self._share = max(self._share, min(progress.share, 1.0))
            self._files = max(self._files, progress.files)
            self.draw(format_progress_bar(self._share, self._files, progress, elapsed))


def format_progress_bar(
    share: float, files: int, progress: IndexingProgress, elapsed: float
) -> str:
    """Return the line of the bar; short enough for 80 columns."""
    full = round(share * BAR_COLUMNS)
    left = ""
    if elapsed >= ESTIMATE_DELAY_SECONDS and 0 < share < 1:
        left = f", {format_duration(elapsed * (1 - share) / share)} left"
    return (
        f"indexing [{'#' * full}{'-' * (BAR_COLUMNS - full)}] {share:4.0%}"
        f" {files}/{max(files, progress.total_files)} files, {progress.chunks} chunks{left}"
    )


def format_duration(seconds: float) -> str:
    """Return a duration in the largest fitting unit."""
    if seconds < _MINUTE:
        return f"{max(1, round(seconds))} s"
    if seconds < _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    return f"{seconds / _HOUR:.1f} h"
