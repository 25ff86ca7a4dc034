"""What a tool can do to a person's files and machine, and who says that it may."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Danger(StrEnum):
    """The worst that a tool does; each is allowed by itself."""

    READS = "reads"
    WRITES = "writes"  # makes and changes files
    DELETES = "deletes"
    RUNS = "runs"  # commands, and so anything


@dataclass(frozen=True, slots=True)
class Wish:
    """A call that waits for permission; ``arguments`` is what the model wrote, for a person."""

    tool: str
    danger: Danger
    arguments: object


class Permissions(Protocol):
    """Whoever decides; safe to ask from several threads."""

    def refusal(self, wish: Wish) -> str | None:
        """None: go on. A sentence: why not, for the model."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Some dangers are allowed once and for all, the others refused."""

    dangers: Collection[Danger]

    def refusal(self, wish: Wish) -> str | None:
        """Why not, if it is not among them."""
        if wish.danger in self.dangers:
            return None
        return f"{wish.tool} is not allowed here: it {wish.danger}. Go on without it."


@dataclass(frozen=True, slots=True)
class Asking:
    """Some dangers are allowed, and for the others a person is asked each time."""

    dangers: Collection[Danger]
    ask: Callable[[Wish], bool]

    def refusal(self, wish: Wish) -> str | None:
        """Why not, if the person says no."""
        if wish.danger in self.dangers or self.ask(wish):
            return None
        return f"The person did not allow {wish.tool}. Do not try again; ask what to do instead."


READ_ONLY = Allowed((Danger.READS,))
EVERYTHING = Allowed(tuple(Danger))
