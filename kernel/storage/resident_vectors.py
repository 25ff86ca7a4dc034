"""The rows of a vector table in memory, and the search among them.

Readers take a snapshot, which is one attribute; one writer at a time appends beyond what any
snapshot counts. Few rows are kept whole and compared exactly. Of many rows only codes are kept:
signs choose candidates, and all five bits put them in order; the disk is never asked.
"""

import numpy as np
import numpy.typing as npt

from kernel.storage.native_memory import give_back
from kernel.storage.vector_blocks import (
    BLOCK_ROWS,
    CodedBlock,
    CodedRows,
    Differences,
    WholeBlock,
    WholeRows,
)
from kernel.storage.vector_codes import (
    AnyFloats,
    FloatArray,
    Int64Array,
    at_length_one,
    decode,
    sign_words,
)

# 100,000 rows of 256 numbers: 102 MB, and 15 ms of CPU for a query. Beyond that codes take a
# sixth of the memory, and a query among a million rows takes 21 ms.
EXACT_NUMBERS = 25_600_000
# Of the exact best ten and best hundred among 400,000 pieces of code, 2,000 candidates by sign
# hold .997 and .980, and 4,000 hold .999 and .991.
CANDIDATES = 4_000
# How many candidates there must be for each row that is asked for.
CANDIDATES_PER_RESULT = 8

# One row in so many says well enough where the limit lies: counting all of a million takes 3 ms.
SAMPLE_STEP = 32

Positions = npt.NDArray[np.intp]


class ResidentVectors:
    """Rows of ``dimensions`` numbers; appended by one thread at a time, searched by any."""

    def __init__(self, dimensions: int, *, exact_numbers: int = EXACT_NUMBERS) -> None:
        self._dimensions = dimensions
        self._exact_numbers = exact_numbers
        self._rows: WholeRows | CodedRows = WholeRows(WholeBlock, dimensions)

    def __len__(self) -> int:
        return self._rows.count

    @property
    def exact(self) -> bool:
        """Whether rows are kept whole."""
        return isinstance(self._rows, WholeRows)

    def append(self, keys: Int64Array, vectors: AnyFloats) -> None:
        """Add rows; a search that begins afterwards sees them."""
        whole = (len(self) + len(keys)) * self._dimensions <= self._exact_numbers
        if not whole:
            self.encode()
        # In pieces, so that the working space does not grow with the number of rows.
        for start in range(0, len(keys), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            self._rows = self._rows.extended(keys[part], at_length_one(vectors[part]))

    def encode(self) -> None:
        """Keep codes from now on; the whole rows are let go."""
        if isinstance(self._rows, CodedRows):
            return
        coded = CodedRows(CodedBlock, self._dimensions)
        for first, end, block in self._rows.filled():
            coded = coded.extended(block.keys[: end - first], block.vectors[: end - first])
            del block
        self._rows = coded
        give_back()

    def nearest(self, query: AnyFloats, wanted: int) -> tuple[Int64Array, FloatArray]:
        """The keys and cosines of the nearest rows, nearest first."""
        rows = self._rows
        single = at_length_one(query.reshape(1, -1))[0]
        if rows.count == 0 or wanted <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        if isinstance(rows, WholeRows):
            keys, cosines = _exactly(rows, single)
        else:
            keys, cosines = _by_codes(rows, single, wanted)
        best = _best(cosines, wanted)
        # Rounding may carry a cosine a little past one.
        return keys[best], np.clip(cosines[best], -1, 1)


def _exactly(rows: WholeRows, query: FloatArray) -> tuple[Int64Array, FloatArray]:
    keys = np.empty(rows.count, np.int64)
    cosines = np.empty(rows.count, np.float32)
    for first, end, block in rows.filled():
        np.dot(block.vectors[: end - first], query, out=cosines[first:end])
        keys[first:end] = block.keys[: end - first]
    return keys, cosines


def _by_codes(rows: CodedRows, query: FloatArray, wanted: int) -> tuple[Int64Array, FloatArray]:
    signs = sign_words(query.reshape(1, -1))[0]
    differences = np.empty(rows.count, np.uint16)
    for first, end, block in rows.filled():
        block.differences(signs, differences[first:end])
    chosen = _fewest(differences, max(CANDIDATES, wanted * CANDIDATES_PER_RESULT))
    keys, codes = rows.codes(chosen)
    cosines: FloatArray = (decode(codes, len(query)) @ query) * codes.scale
    return keys, cosines


def _fewest(differences: Differences, wanted: int) -> Positions:
    """Positions of the ``wanted`` smallest, ascending; of equals the first."""
    if wanted >= len(differences):
        return np.arange(len(differences))
    chosen = np.flatnonzero(differences <= _limit_of_a_sample(differences, wanted))
    if len(chosen) < wanted:  # the sample had the wrong rows in it
        chosen = np.arange(len(differences))
    few = differences[chosen]
    # Counting is faster than a partition.
    limit = int(np.searchsorted(np.cumsum(np.bincount(few)), wanted))
    ties = np.flatnonzero(few == limit)
    inside = few <= limit
    inside[ties[len(ties) - (np.count_nonzero(inside) - wanted) :]] = False
    return chosen[inside]


def _limit_of_a_sample(differences: Differences, wanted: int) -> int:
    """A number that probably more than ``wanted`` rows do not exceed, and not many more."""
    sample = differences[::SAMPLE_STEP]
    generous = min(len(sample), 2 * wanted // SAMPLE_STEP + SAMPLE_STEP)
    return int(np.partition(sample, generous - 1)[generous - 1])


def _best(cosines: FloatArray, wanted: int) -> Positions:
    """Positions of the largest, largest first; of equals the first comes first."""
    if wanted < len(cosines):
        limit = np.partition(cosines, len(cosines) - wanted)[len(cosines) - wanted]
        some = np.flatnonzero(cosines >= limit)
    else:
        some = np.arange(len(cosines))
    return some[np.argsort(-cosines[some], kind="stable")][:wanted]
