"""What became of a file when what an agent had done to it was undone."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a file is now; the words are stored and shown, so they stay as they are."""

    RESTORED = "restored"  # as it was before
    REMOVED = "removed"  # it was not there before
    KEPT = "kept"  # as it was when undoing began; the reason says why


@dataclass(frozen=True, slots=True)
class Undone:
    """``path`` is relative to the repository; ``reason`` is for a person."""

    path: str
    state: State
    reason: str = ""
