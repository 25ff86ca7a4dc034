"""Which worker is given which tests first."""

from itertools import islice

import pytest

# Parts of names of what takes longest: no worker shall be left with one of these at the end.
SLOWEST_FIRST = (
    "[phone]",
    "test_index_kill.py",
    "[desktop_day]",
    "[desktop_windows]",
    "[large]",
    "test_network.py",
    "test_desktop_trace.py",
    "test_desktop.py",
    "test_soak.py",
    "fuzz/test_lines.py",
)


def deal_items(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Let half of the workers begin with the slowest; each is given as many tests, in order.

    The other half runs what mostly waits meanwhile: all browsers at once would hold each other up.
    """
    slow = sorted(filter(is_slowest, items), key=get_place)
    rest = iter([item for item in items if not is_slowest(item)])
    lanes, dealt = max(1, workers // 2), list[pytest.Item]()
    for worker in range(workers):
        count = (len(items) - len(dealt)) // (workers - worker)
        own = slow[worker::lanes] if worker < lanes else []
        dealt += [*own, *islice(rest, max(0, count - len(own)))]
    return [*dealt, *rest]


def get_place(item: pytest.Item) -> int:
    """Return where a test stands among the slowest, beyond them if it is none."""
    places = (place for place, part in enumerate(SLOWEST_FIRST) if part in item.nodeid)
    return next(places, len(SLOWEST_FIRST))


def is_slowest(item: pytest.Item) -> bool:
    return get_place(item) < len(SLOWEST_FIRST)
