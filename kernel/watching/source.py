"""What the watcher asks of a system's way to tell of changes, whichever system it is."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class News:
    """Relative paths that changed; ``sweep`` if others may have; ``lost`` if the root is gone."""

    paths: frozenset[str] = frozenset()
    sweep: bool = False
    lost: bool = False


class Source(Protocol):
    """Made, used and closed by one thread; only ``wake`` and ``stop`` are called by others."""

    def watch_everything(self) -> None:
        """Begin, or begin again with other folders to skip. Raises OSError if it cannot."""

    def wait(self, timeout: float) -> News:
        """What changed, as soon as something did, at most after ``timeout`` seconds."""

    def wake(self) -> None:
        """Let a ``wait`` return."""

    def stop(self) -> None:
        """Wake, and let a ``watch_everything`` under way give up."""

    def close(self) -> None:
        """Give back what the system lent."""
