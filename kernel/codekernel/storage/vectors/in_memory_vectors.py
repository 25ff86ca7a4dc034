"""The vectors of a table in memory, and the nearest-neighbour search by cosine.

A sorted key set, and blocks of exact or quantized rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from codekernel.domain.native_memory import trim_native_memory
from codekernel.storage.vectors.quantization import (
    AnyFloatArray,
    BoolArray,
    FloatArray,
    Int64Array,
    MagnitudeBytes,
    QuantizedVectors,
    SignWords,
    count_magnitude_bytes,
    count_sign_words,
    dequantize,
    normalize_rows,
    pack_signs,
    quantize,
)

# Adding to a million sorted keys copies 8 MB; so many newest keys are sorted by themselves first.
MAX_RECENT_KEYS = 16_384


class VectorKeySet:
    """A set of keys; readers see one attribute, which is replaced whole."""

    def __init__(self, keys: Int64Array) -> None:
        self._sorted: tuple[Int64Array, Int64Array] = (sort_unique(keys), keys[:0])

    def __len__(self) -> int:
        return sum(map(len, self._sorted))

    def contains(self, keys: Int64Array) -> BoolArray:
        """Return for each key whether it is in the set."""
        settled, recent = self._sorted
        found = find_in_sorted(keys, settled)
        return found | find_in_sorted(keys, recent) if len(recent) else found

    def add(self, keys: Int64Array) -> None:
        """Add keys that are not in the set yet, each once."""
        settled, recent = self._sorted
        recent = _merge_sorted(recent, np.sort(keys))
        if len(recent) > MAX_RECENT_KEYS:
            settled, recent = _merge_sorted(settled, recent), recent[:0]
        self._sorted = (settled, recent)

    def to_array(self) -> Int64Array:
        """Return every key, in no order."""
        return np.concatenate(self._sorted)


def sort_unique(keys: Int64Array) -> Int64Array:
    """Return the keys without duplicates, ascending."""
    # numpy's own unique puts them into a hash table: .9 s for a million, and this 16 ms.
    ascending = np.sort(keys)
    once: Int64Array = ascending[np.diff(ascending, prepend=ascending[:1] - 1) != 0]
    return once


def _merge_sorted(ascending: Int64Array, more: Int64Array) -> Int64Array:
    # numpy's union would look up every key: at 500,000 keys ten times the cost of the commit.
    return np.insert(ascending, np.searchsorted(ascending, more), more)


def find_in_sorted(keys: "npt.NDArray[Any]", ascending: "npt.NDArray[Any]") -> BoolArray:
    """Return for each key whether it is in a sorted array."""
    if len(ascending) == 0:
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    found: BoolArray = ascending[places] == keys
    return found


HammingDistances: TypeAlias = npt.NDArray[np.uint16]

# Enough that a call of numpy costs little per row, few enough that a block's working space stays
# in the processor's cache: the signs of 1M rows of 256 numbers are compared in 5 ms of CPU.
BLOCK_ROWS = 16_384


@dataclass(frozen=True)
class ExactBlock:
    """Exact rows; memory not written yet is not taken from the system."""

    keys: Int64Array
    vectors: FloatArray

    @classmethod
    def allocate(cls, dimensions: int) -> Self:
        """Return a block without rows."""
        return cls(np.empty(BLOCK_ROWS, np.int64), np.empty((BLOCK_ROWS, dimensions), np.float32))

    def write(self, start: int, keys: Int64Array, rows: FloatArray) -> None:
        """Write rows of length one at ``start``."""
        self.keys[start : start + len(keys)] = keys
        self.vectors[start : start + len(keys)] = rows


@dataclass(frozen=True)
class QuantizedBlock:
    """Rows in five bits a number."""

    keys: Int64Array
    signs: SignWords
    magnitudes: MagnitudeBytes
    scale: FloatArray

    @classmethod
    def allocate(cls, dimensions: int) -> Self:
        """Return a block without rows."""
        return cls(
            np.empty(BLOCK_ROWS, np.int64),
            np.empty((count_sign_words(dimensions), BLOCK_ROWS), np.uint64),
            np.empty((BLOCK_ROWS, count_magnitude_bytes(dimensions)), np.uint8),
            np.empty(BLOCK_ROWS, np.float32),
        )

    def write(self, start: int, keys: Int64Array, rows: FloatArray) -> None:
        """Write rows of length one at ``start``."""
        codes = quantize(rows)
        place = slice(start, start + len(keys))
        self.keys[place] = keys
        self.signs[:, place] = codes.signs
        self.magnitudes[place] = codes.magnitudes
        self.scale[place] = codes.scale

    def compute_hamming_distances(self, signs: SignWords, distances: HammingDistances) -> None:
        """Write into ``distances`` in how many signs each of as many rows differs."""
        # Three calls: each acquires the interpreter lock again, which other threads may hold.
        words = np.bitwise_xor(self.signs[:, : len(distances)], signs[:, np.newaxis])
        np.add.reduce(np.bitwise_count(words), axis=0, dtype=np.uint16, out=distances)


VectorBlockT = TypeVar("VectorBlockT", ExactBlock, QuantizedBlock)


@dataclass(frozen=True)
class VectorRows(Generic[VectorBlockT]):
    """A snapshot: blocks, and how many of their rows are valid."""

    block_type: type[VectorBlockT]
    dimensions: int
    blocks: tuple[VectorBlockT, ...] = ()
    count: int = 0

    def append(self, keys: Int64Array, rows: FloatArray) -> Self:
        """Return the next snapshot, in the same blocks and, where they are full, in new ones."""
        blocks, count, done = list(self.blocks), self.count, 0
        while done < len(keys):
            inside = count % BLOCK_ROWS
            if inside == 0:
                blocks.append(self.block_type.allocate(self.dimensions))
            part = slice(done, min(len(keys), done + BLOCK_ROWS - inside))
            blocks[-1].write(inside, keys[part], rows[part])
            count += part.stop - part.start
            done = part.stop
        return replace(self, blocks=tuple(blocks), count=count)

    def iterate_blocks(self) -> Iterator[tuple[int, int, VectorBlockT]]:
        """Yield each block with the positions of its first row and after its last."""
        for number, block in enumerate(self.blocks):
            first = number * BLOCK_ROWS
            yield first, min(self.count, first + BLOCK_ROWS), block


class ExactRows(VectorRows[ExactBlock]):
    """A snapshot of exact rows."""


class QuantizedRows(VectorRows[QuantizedBlock]):
    """A snapshot of rows in five bits a number."""

    def read_quantized(
        self, positions: npt.NDArray[np.intp]
    ) -> tuple[Int64Array, QuantizedVectors]:
        """Return keys and codes of the rows at these ascending positions."""
        keys = np.empty(len(positions), np.int64)
        signs = np.empty((count_sign_words(self.dimensions), len(positions)), np.uint64)
        sizes = np.empty((len(positions), count_magnitude_bytes(self.dimensions)), np.uint8)
        scale = np.empty(len(positions), np.float32)
        for first, end, block in self.iterate_blocks():
            low, high = np.searchsorted(positions, (first, end))
            inside = positions[low:high] - first
            keys[low:high] = block.keys[inside]
            signs[:, low:high] = block.signs[:, inside]
            sizes[low:high] = block.magnitudes[inside]
            scale[low:high] = block.scale[inside]
        return keys, QuantizedVectors(signs, sizes, scale)


# 100,000 rows of 256 numbers: 102 MB, and 15 ms of CPU for a query. Beyond that codes take a
# sixth of the memory, and a query among a million rows takes 21 ms.
MAX_EXACT_NUMBERS = 25_600_000

# Of the exact best ten and best hundred among 400,000 pieces of code, 2,000 candidates by sign
# hold .997 and .980, and 4,000 hold .999 and .991.
MIN_HAMMING_CANDIDATES = 4_000

# How many candidates there are for each requested row.
CANDIDATES_PER_RESULT = 8

# One row in so many says well enough where the limit lies: counting all of a million takes 3 ms.
SAMPLE_STEP = 32

Positions = npt.NDArray[np.intp]


class InMemoryVectors:
    """Rows of ``dimensions`` numbers; appended by one thread at a time, searched by any."""

    def __init__(self, dimensions: int, *, max_exact_numbers: int = MAX_EXACT_NUMBERS) -> None:
        self._dimensions = dimensions
        self._max_exact_numbers = max_exact_numbers
        self._rows: ExactRows | QuantizedRows = ExactRows(ExactBlock, dimensions)

    def __len__(self) -> int:
        return self._rows.count

    @property
    def is_exact(self) -> bool:
        """Return whether rows are exact."""
        return isinstance(self._rows, ExactRows)

    def append(self, keys: Int64Array, vectors: AnyFloatArray) -> None:
        """Add rows; a search that starts afterwards sees them."""
        whole = (len(self) + len(keys)) * self._dimensions <= self._max_exact_numbers
        if not whole:
            self.quantize()
        # In pieces, so that the working space does not grow with the number of rows.
        for start in range(0, len(keys), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            self._rows = self._rows.append(keys[part], normalize_rows(vectors[part]))

    def quantize(self) -> None:
        """Replace the exact rows by quantized ones."""
        if isinstance(self._rows, QuantizedRows):
            return
        quantized = QuantizedRows(QuantizedBlock, self._dimensions)
        for first, end, block in self._rows.iterate_blocks():
            quantized = quantized.append(block.keys[: end - first], block.vectors[: end - first])
            del block
        self._rows = quantized
        trim_native_memory()

    def find_nearest(self, query: AnyFloatArray, k: int) -> tuple[Int64Array, FloatArray]:
        """Return keys and cosines of the nearest rows, nearest first."""
        rows = self._rows
        single = normalize_rows(query.reshape(1, -1))[0]
        if rows.count == 0 or k <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        if isinstance(rows, ExactRows):
            keys, cosines = _search_exact(rows, single)
        else:
            keys, cosines = _search_quantized(rows, single, k)
        best = _select_best(cosines, k)
        # Rounding may carry a cosine a little past one.
        return keys[best], np.clip(cosines[best], -1, 1)


def _search_exact(rows: ExactRows, query: FloatArray) -> tuple[Int64Array, FloatArray]:
    keys = np.empty(rows.count, np.int64)
    cosines = np.empty(rows.count, np.float32)
    for first, end, block in rows.iterate_blocks():
        np.dot(block.vectors[: end - first], query, out=cosines[first:end])
        keys[first:end] = block.keys[: end - first]
    return keys, cosines


def _search_quantized(
    rows: QuantizedRows, query: FloatArray, wanted: int
) -> tuple[Int64Array, FloatArray]:
    signs = pack_signs(query.reshape(1, -1))[0]
    differences = np.empty(rows.count, np.uint16)
    for first, end, block in rows.iterate_blocks():
        block.compute_hamming_distances(signs, differences[first:end])
    chosen = _select_smallest(
        differences, max(MIN_HAMMING_CANDIDATES, wanted * CANDIDATES_PER_RESULT)
    )
    keys, codes = rows.read_quantized(chosen)
    cosines: FloatArray = (dequantize(codes, len(query)) @ query) * codes.scale
    return keys, cosines


def _select_smallest(differences: HammingDistances, wanted: int) -> Positions:
    """Return the positions of the ``wanted`` smallest, ascending; of equals the first."""
    if wanted >= len(differences):
        return np.arange(len(differences))
    chosen = np.flatnonzero(differences <= _estimate_limit(differences, wanted))
    if len(chosen) < wanted:  # the sample had the wrong rows in it
        chosen = np.arange(len(differences))
    few = differences[chosen]
    # Counting is faster than a partition.
    limit = int(np.searchsorted(np.cumsum(np.bincount(few)), wanted))
    ties = np.flatnonzero(few == limit)
    inside = few <= limit
    inside[ties[len(ties) - (np.count_nonzero(inside) - wanted) :]] = False
    return chosen[inside]


def _estimate_limit(differences: HammingDistances, wanted: int) -> int:
    """Return a limit that slightly more than ``wanted`` rows probably do not exceed."""
    sample = differences[::SAMPLE_STEP]
    generous = min(len(sample), 2 * wanted // SAMPLE_STEP + SAMPLE_STEP)
    return int(np.partition(sample, generous - 1)[generous - 1])


def _select_best(cosines: FloatArray, wanted: int) -> Positions:
    """Return the positions of the largest, largest first; of equals the first comes first."""
    if wanted < len(cosines):
        limit = np.partition(cosines, len(cosines) - wanted)[len(cosines) - wanted]
        some = np.flatnonzero(cosines >= limit)
    else:
        some = np.arange(len(cosines))
    return some[np.argsort(-cosines[some], kind="stable")][:wanted]
