"""Waiting for what nobody tells: of another process, of a file, of a thread without an event.

What tells is waited for by its event, its line or its exit. The one place of tests that lets time
pass, so that a reader finds by its callers where that is.
"""

import threading
import time
from collections.abc import Callable
from random import Random

# Costs nothing when the test passes, and a busy machine may need it.
TIMEOUT_SECONDS = 60.0
# What is quick is seen at once, what takes long is not asked too often.
FIRST_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS = 0.001, 0.05


def wait_until(
    condition: Callable[[], object],
    what: Callable[[], object] | str = "it never was so",
    timeout: float = TIMEOUT_SECONDS,
) -> None:
    """Ask again until it is so; ``what`` says what was waited for, or how things are instead.

    Raises:
        AssertionError: it was not so in time.
    """
    if not is_true_within(condition, timeout):
        raise AssertionError(what() if callable(what) else what)


def is_true_within(condition: Callable[[], object], timeout: float = TIMEOUT_SECONDS) -> bool:
    """Return whether it becomes so in time; it is asked at least once."""
    ends_at, interval = time.monotonic() + timeout, FIRST_INTERVAL_SECONDS
    while not condition():
        if time.monotonic() > ends_at:
            return False
        pause(interval)
        interval = min(2 * interval, MAX_INTERVAL_SECONDS)
    return True


def pause(seconds: float) -> None:
    """Let time pass: for a peer that is slow, and between two tries."""
    threading.Event().wait(seconds)


def pause_at_random(chance: Random, most_seconds: float) -> None:
    """Let some of the time pass, so that campaigns meet other moments in each try."""
    pause(chance.random() * most_seconds)
