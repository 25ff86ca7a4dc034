"""Which keys a vector table holds: asked by any thread, extended by one."""

import numpy as np

from kernel.storage.vector_codes import BoolArray, Int64Array

# Adding to a million sorted keys copies 8 MB; so many newest keys are sorted by themselves first.
RECENT_KEYS = 16_384


class VectorKeys:
    """A set of keys. What a reader sees is one attribute, replaced whole."""

    def __init__(self, keys: Int64Array) -> None:
        self._sorted: tuple[Int64Array, Int64Array] = (each_once(keys), keys[:0])

    def __len__(self) -> int:
        return sum(map(len, self._sorted))

    def holds(self, keys: Int64Array) -> BoolArray:
        """For each key, whether it is here."""
        settled, recent = self._sorted
        found = _among(keys, settled)
        return found | _among(keys, recent) if len(recent) else found

    def add(self, keys: Int64Array) -> None:
        """Add keys that are not here yet, each once."""
        settled, recent = self._sorted
        recent = _merged(recent, np.sort(keys))
        if len(recent) > RECENT_KEYS:
            settled, recent = _merged(settled, recent), recent[:0]
        self._sorted = (settled, recent)

    def all(self) -> Int64Array:
        """Every key, in no order."""
        return np.concatenate(self._sorted)


def each_once(keys: Int64Array) -> Int64Array:
    """The keys without repeats, ascending."""
    # numpy's own unique puts them into a hash table: .9 s for a million, and this 16 ms.
    ascending = np.sort(keys)
    once: Int64Array = ascending[np.diff(ascending, prepend=ascending[:1] - 1) != 0]
    return once


def _merged(ascending: Int64Array, more: Int64Array) -> Int64Array:
    # numpy's union would look every key up anew: at 500,000 keys ten times the cost of the commit.
    return np.insert(ascending, np.searchsorted(ascending, more), more)


def _among(keys: Int64Array, ascending: Int64Array) -> BoolArray:
    if len(ascending) == 0:
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    found: BoolArray = ascending[places] == keys
    return found
