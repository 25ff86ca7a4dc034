"""When to tell of changes: bursts become one piece of news, a storm becomes one sweep.

Pure: moments come in as numbers, nothing here waits. ``delivery`` does the waiting.
"""

from collections.abc import Collection
from dataclasses import dataclass

# A save is several events within a few milliseconds (write a temporary file, flush, rename); this
# much silence says that it is over and is still a fifth of what "found at once" may take (250 ms).
QUIET_SECONDS = 0.05
# Something that writes without pause must not keep the news back for ever.
LONGEST_SECONDS = 0.5
# A person's save touches a few files, a format-on-save of a project some dozens. Beyond this, one
# walk of the repository is cheaper than asking for each path, and nothing need be remembered.
MOST_PATHS = 300
# In a storm (a checkout, an unpacking) the sweeps are at least this far apart.
SWEEP_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Changes:
    """What to look at again.

    ``paths`` are relative to the root, with ``/``, undecodable bytes as surrogates: files or
    folders, there or gone. A folder stands for all that is in it. Empty when ``sweep``.
    """

    paths: frozenset[str]
    sweep: bool


SWEEP = Changes(paths=frozenset(), sweep=True)


class Debouncer:
    """Gathers paths, and says from when on they are to be taken."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._sweep = False
        self._first: float | None = None
        self._last = 0.0
        self._swept_at = float("-inf")

    def add(self, paths: Collection[str], now: float, *, sweep: bool = False) -> None:
        """Remember that these paths changed ``now``, or, to ``sweep``, that anything may have."""
        if not (paths or sweep):
            return
        self._paths.update(paths)
        self._sweep = self._sweep or sweep or len(self._paths) > MOST_PATHS
        if self._sweep:
            self._paths.clear()
        if self._first is None:
            self._first = now
        self._last = now

    def due(self) -> float | None:
        """The moment from which on ``take`` has something, if no more comes."""
        if self._first is None:
            return None
        moment = min(self._last + QUIET_SECONDS, self._first + LONGEST_SECONDS)
        return max(moment, self._swept_at + SWEEP_INTERVAL_SECONDS) if self._sweep else moment

    def take(self, now: float) -> Changes | None:
        """What is due ``now``, merged; None if nothing is."""
        moment = self.due()
        if moment is None or now < moment:
            return None
        changes = SWEEP if self._sweep else Changes(frozenset(self._paths), sweep=False)
        if self._sweep:
            self._swept_at = now
        self._paths.clear()
        self._sweep = False
        self._first = None
        return changes
