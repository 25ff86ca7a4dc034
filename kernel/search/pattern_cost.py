"""For how long a regular expression may run, told from how it is built."""

from collections.abc import Iterable, Sequence
from typing import Any

from kernel.search.pattern_reach import (
    NOTHING,
    REPEATS,
    Characters,
    Item,
    first_of,
    follow_of,
    nullable,
    parts_of,
    reach_of,
)

# Steps of one search at the worst: (.)+(.)+x in a piece of 500 takes 0.4 s, [ab]*[ab]*[ab]*c in one
# of 120 a tenth. Real lines take a thousandth of that.
MOST_STEPS = 300_000_000


def may_explode(sequence: Iterable[Item]) -> bool:
    """Whether some repeated group may match a text in two ways."""
    for operation, value in sequence:
        if str(operation) in REPEATS and value[1] > 1:
            body = value[2]
            if nullable(body) or _ambiguous(body, first_of(body)):
                return True
        if any(may_explode(part) for part in parts_of(operation, value)):
            return True
    return False


def steps(tree: Sequence[Item], length: int) -> int:
    """How many steps a search in ``length`` characters takes at the worst.

    Each of them may begin a match, and of the repeats that can end in one way alone the last one is
    undone in vain.
    """
    undone = length if _has_plain_repeat(tree, NOTHING) else 1
    return length * undone * _ways(tree, NOTHING, length)


def _ambiguous(sequence: Sequence[Item], after: Characters) -> bool:
    """Whether something in it may end at two places, given what may come after it."""
    items = list(sequence)
    for place, (operation, value) in enumerate(items):
        follow = follow_of(items[place + 1 :], after)
        name = str(operation)
        if name in REPEATS:
            least, most, body = value
            if least != most and reach_of(body) & follow:
                return True
            follow |= first_of(body)
        if name == "BRANCH" and _overlap(value[1], follow):
            return True
        if name == "GROUPREF" or any(_ambiguous(p, follow) for p in parts_of(operation, value)):
            return True
    return False


def _overlap(branches: Sequence[Any], follow: Characters) -> bool:
    """Whether two branches may begin alike."""
    seen: Characters = NOTHING
    for branch in branches:
        first = first_of(branch) | (follow if nullable(branch) else NOTHING)
        if first & seen:
            return True
        seen |= first
    return False


def _has_plain_repeat(sequence: Sequence[Item], after: Characters) -> bool:
    items = list(sequence)
    for place, (operation, value) in enumerate(items):
        follow = follow_of(items[place + 1 :], after)
        is_repeat = str(operation) in REPEATS and value[1] - value[0] > 1
        if is_repeat and follow and not reach_of(value[2]) & follow:
            return True
        if any(_has_plain_repeat(part, follow) for part in parts_of(operation, value)):
            return True
    return False


def _ways(sequence: Sequence[Item], after: Characters, length: int) -> int:
    """In how many ways it may match."""
    items = list(sequence)
    ways = 1
    for place, (operation, value) in enumerate(items):
        follow = follow_of(items[place + 1 :], after)
        name = str(operation)
        inner = [_ways(part, follow, length) for part in parts_of(operation, value)]
        if name in REPEATS:
            least, most, body = value
            if reach_of(body) & follow:
                ways *= min(length, most - least + 1)
        if name == "BRANCH" and _overlap(value[1], follow):
            ways *= sum(inner)
        else:
            ways *= max(inner, default=1)
        ways = min(ways, MOST_STEPS + 1)  # enough to know, and no number of a thousand digits
    return ways
