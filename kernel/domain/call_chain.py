"""A question about calls, and its answer: who calls something, and what it calls."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kernel.domain.cancel import CancelToken

# As the document has it; whoever needs more asks about one of those that are shown.
MOST_CALLERS = 20
MOST_CALLEES = 30
DEEPEST = 10


class Direction(StrEnum):
    """Which way calls are followed."""

    CALLERS = "callers"
    CALLEES = "callees"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class ChainQuestion:
    """``method`` is a name, or a name with those around it: ClassName.methodName."""

    method: str
    direction: Direction = Direction.BOTH
    depth: int = 1
    with_source: bool = False
    most_callers: int = MOST_CALLERS
    most_callees: int = MOST_CALLEES


@dataclass(frozen=True, slots=True)
class ChainPlace:
    """A definition, or the code of a file outside of all; lines count from 1, both are in."""

    name: str
    kind: str
    path: str
    first_line: int
    last_line: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One step of a chain: a caller or a callee, and what comes after it.

    ``lines`` are those of the calls: in the caller. ``again``: it has been shown before, with what
    follows it; a cycle ends so.
    """

    place: ChainPlace
    certainty: str
    lines: tuple[int, ...]
    next: "ChainSteps"
    again: bool = False


@dataclass(frozen=True, slots=True)
class ChainSteps:
    """``more`` are left out; ``unread`` files call the name too and were not looked at."""

    steps: tuple[ChainStep, ...] = ()
    more: int = 0
    unread: int = 0
    # Names that are called and are not in the repository, or could be anything.
    outside: tuple[str, ...] = ()


NO_STEPS = ChainSteps()


@dataclass(frozen=True, slots=True)
class Chain:
    """One definition that the question means."""

    place: ChainPlace
    callers: ChainSteps | None
    callees: ChainSteps | None


@dataclass(frozen=True, slots=True)
class ChainAnswer:
    """Same-named definitions are apart; ``behind`` files have not been read yet."""

    question: ChainQuestion
    chains: tuple[Chain, ...]
    more: int = 0
    behind: int = 0
    # Without any definition: how many files call something of that name.
    calling_files: int = 0


# Within so many seconds, unless cancelled.
AskCalls = Callable[[ChainQuestion, CancelToken, float], ChainAnswer]
