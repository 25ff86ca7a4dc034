"""What ``bench.py clients`` notes: a line of its table, and the answers of many clients."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

# What was measured, the figure, and whether its target is met.
Row = tuple[str, str, bool]


@dataclass
class AnswerTally:
    """The answers that clients on several threads got, and what was wrong with them."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)  # by what was asked for

    @contextmanager
    def time_answer(self, what: str) -> Iterator[None]:
        """Note how long an answer takes."""
        started = time.monotonic()
        yield
        taken = time.monotonic() - started
        self.seconds.append(taken)
        self.slowest[what] = max(self.slowest.get(what, 0.0), taken)


# Opens a client; yields its process, if it may be killed, and a function that asks once.
OpenClient = Callable[[AnswerTally], AbstractContextManager[tuple[int | None, Callable[[], None]]]]
