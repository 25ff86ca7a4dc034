"""How quickly vectors of a model are computed here, and how quickly the store gives them.

Who computes more of them in a second than the store gives does not ask it. What was measured is
kept in userData, for ``share status``, and for the first moments of the next process.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.safe_files import write_bytes_atomically

logger = logging.getLogger(__name__)

FILE_NAME = "speeds.json"

# Before a store was measured: 2 MB a second. One on loopback gave 5,200 and 68,000.
ASSUMED_PER_SECOND = 4_000.0

# A store may have been slow for a moment: it is tried again after so long.
MAX_AGE_SECONDS = 24 * 60 * 60.0

# Fewer say little about a speed.
MIN_MEASURED = 64

NEWEST_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class VectorSpeed:
    """Vectors a second; 0 is unknown."""

    computed: float = 0.0
    fetched: float = 0.0
    fetched_at: float = 0.0

    @property
    def is_fetching_quicker(self) -> bool:
        """Whether the store is to be asked; it is while nothing is known."""
        return self.computed < (self.fetched or ASSUMED_PER_SECOND)


def read_speeds(folder: Path) -> dict[str, VectorSpeed]:
    """Return what is known by the first digits of each model."""
    try:
        kept = json.loads((folder / FILE_NAME).read_bytes())
        return {model: VectorSpeed(**fields) for model, fields in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


class MeasuredSpeed:
    """The speed of one model; used by the threads that embed with it."""

    def __init__(self, folder: Path, model: str, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._model, self._clock = folder, model, clock
        known = read_speeds(folder).get(model, VectorSpeed())
        is_old = clock() - known.fetched_at > MAX_AGE_SECONDS
        self.known = replace(known, fetched=0.0, fetched_at=0.0) if is_old else known
        self._saved = self.known

    def note_computed(self, per_second: float) -> None:
        """Note the speed of the model, as it was measured last."""
        self.known = replace(self.known, computed=round(per_second, 1))

    def note_fetched(self, count: int, seconds: float) -> None:
        """Note how long the store took for so many vectors."""
        if count < MIN_MEASURED:
            return
        rate, known = count / max(seconds, 1e-6), self.known.fetched
        mixed = (1 - NEWEST_WEIGHT) * known + NEWEST_WEIGHT * rate if known else rate
        self.known = replace(self.known, fetched=round(mixed, 1), fetched_at=self._clock())

    def save(self) -> None:
        """Keep what has changed."""
        if self.known == self._saved:
            return
        speeds: Mapping[str, VectorSpeed] = {
            **read_speeds(self._folder),
            self._model: self.known,
        }
        content = json.dumps({model: asdict(each) for model, each in speeds.items()})
        try:
            write_bytes_atomically(self._folder / FILE_NAME, content.encode())
        except StorageError as error:
            logger.info("speeds are not kept: %s", error)
        self._saved = self.known
