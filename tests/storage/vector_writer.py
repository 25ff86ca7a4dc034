"""A child process that adds, deletes and compacts until it is killed, and says what it has done."""

import sys
from pathlib import Path

import numpy as np
from codekernel.storage.vectors.vector_table import VectorTable

DIMENSIONS = 32
ROWS = 5
# Keys from here on are added to be deleted again.
PASSING = 1_000_000_000


def vectors_of(keys: list[int]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    """The vector that each key always has."""
    rows = [np.random.default_rng(key).standard_normal(DIMENSIONS) for key in keys]
    return np.array(rows, dtype=np.float32)


def main(folder: Path, first: int) -> None:
    """Begin with the key ``first``."""
    table = VectorTable.open(folder, DIMENSIONS)
    held = set(range(first))
    print("open", flush=True)  # noqa: T201  # the parent reads it
    for turn in range(1_000_000):
        keys = list(range(first, first + ROWS))
        table.add(keys, vectors_of(keys))
        first += ROWS
        held.update(keys)
        print(first, flush=True)  # noqa: T201
        if turn % 3 == 1:
            table.add([PASSING + turn], vectors_of([PASSING + turn]))
            table.delete_except(sorted(held))
        if turn % 5 == 4:
            table.compact()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
