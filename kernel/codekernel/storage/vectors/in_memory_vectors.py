"""The vectors of a table in memory, and the nearest-neighbour search by cosine.

A sorted key set, and blocks of rows, exact or quantized to five bits per number (a sign, sixteen
magnitudes).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from codekernel.domain.memory import trim_native_memory

Int64Array: TypeAlias = npt.NDArray[np.int64]

VectorKeysLike: TypeAlias = Int64Array | Sequence[int]

FloatArray: TypeAlias = npt.NDArray[np.float32]

BoolArray: TypeAlias = npt.NDArray[np.bool_]

AnyFloatArray: TypeAlias = npt.NDArray[np.floating[Any]]

SignWords: TypeAlias = npt.NDArray[np.uint64]

MagnitudeBytes: TypeAlias = npt.NDArray[np.uint8]

WORD_BITS = 64

MAGNITUDE_LEVELS = 16

# The width of a size, as a share of 1/sqrt(dimensions), the usual size of a number in a vector of
# length one. Over 400,000 pieces of code 0.16, 0.20 and 0.25 left a mean error in the cosine of
# .0048, .0034 and .0034, and kept .955, .962 and .962 of the best hundred.
QUANTIZATION_STEP = 0.2

# Between these no number of a row can have been too large or too small to be squared, so that rows
# need not be looked at one by one: a million of them are read from the disk in half the time.
SAFE_SQUARED_NORMS = (1e-10, 1e10)


class QuantizedVectors(NamedTuple):
    """Rows in five bits a number."""

    signs: SignWords
    magnitudes: MagnitudeBytes  # the first half of the numbers in the low four bits
    scale: FloatArray  # what makes a row's cosine with itself one


def round_rows(vectors: AnyFloatArray) -> npt.NDArray[np.float16]:
    """Return rows of length one, rounded as they are stored; float16 rows have been before."""
    if vectors.dtype == np.float16:
        return vectors
    return normalize_rows(vectors).astype(np.float16)


def normalize_rows(vectors: AnyFloatArray) -> FloatArray:
    """Scale each row to length one; a row that is zero, or holds NaN or infinity, becomes zero."""
    rows = np.asarray(vectors, dtype=np.float32)
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float32)
    if ((squares > SAFE_SQUARED_NORMS[0]) & (squares < SAFE_SQUARED_NORMS[1])).all():
        ordinary: FloatArray = rows / np.sqrt(squares)[:, None]
        return ordinary
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    usable = np.isfinite(largest) & (largest > 0)
    # Divided by the largest number first, for squares of large numbers are infinite.
    tamed = np.where(usable, rows, 0) / np.where(usable, largest, 1)
    length = np.linalg.norm(tamed, axis=1, keepdims=True)
    single: FloatArray = (tamed / np.where(usable, length, 1)).astype(np.float32, copy=False)
    return single


def quantize(rows: FloatArray) -> QuantizedVectors:
    """Quantize rows of length one."""
    count, dimensions = rows.shape
    step = _compute_step(dimensions)
    magnitudes = np.abs(rows)
    sizes = np.minimum(magnitudes / step, MAGNITUDE_LEVELS - 1).astype(np.uint8)
    half = -(-dimensions // 2)
    packed = sizes[:, :half].copy()
    packed[:, : dimensions - half] |= sizes[:, half:] << 4
    alike = step * np.einsum("ij,ij->i", sizes + np.float32(0.5), magnitudes, dtype=np.float32)
    scale = np.divide(1, alike, out=np.zeros(count, np.float32), where=alike > 0)
    return QuantizedVectors(pack_signs(rows), packed, scale)


def pack_signs(rows: FloatArray) -> SignWords:
    """Return a bit per number, set where it is positive."""
    count, dimensions = rows.shape
    padded = np.zeros((count, -(-dimensions // WORD_BITS) * WORD_BITS // 8), np.uint8)
    bits = np.packbits(rows > 0, axis=1)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64)


def dequantize(codes: QuantizedVectors, dimensions: int) -> FloatArray:
    """Return vectors whose product with a unit query, times ``codes.scale``, is the cosine."""
    signs = np.ascontiguousarray(codes.signs).view(np.uint8)
    positive = np.unpackbits(signs, axis=1, count=dimensions).view(np.int8)
    half = codes.magnitudes.shape[1]
    sizes = np.empty((len(codes.magnitudes), dimensions), np.int8)
    np.bitwise_and(codes.magnitudes, MAGNITUDE_LEVELS - 1, out=sizes[:, :half].view(np.uint8))
    np.right_shift(codes.magnitudes[:, : dimensions - half], 4, out=sizes[:, half:].view(np.uint8))
    # A size stands for the middle of its step: in halves of a step an odd number, up to 31. In
    # bytes this takes a fifth of the time that looking up each number takes.
    doubled = (2 * sizes + 1) * (2 * positive - 1)
    decoded: FloatArray = doubled.astype(np.float32)
    decoded *= _compute_step(dimensions) / 2
    return decoded


def _compute_step(dimensions: int) -> np.float32:
    return np.float32(QUANTIZATION_STEP / np.sqrt(dimensions))


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


def find_in_sorted(keys: npt.NDArray[Any], ascending: npt.NDArray[Any]) -> BoolArray:
    """Return for each key whether it is in a sorted array."""
    if len(ascending) == 0:
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    found: BoolArray = ascending[places] == keys
    return found


# Enough that a call of numpy costs little per row, few enough that a block's working space stays
# in the processor's cache: the signs of 1M rows of 256 numbers are compared in 5 ms of CPU.
BLOCK_ROWS = 16_384

HammingDistances: TypeAlias = npt.NDArray[np.uint16]

Positions: TypeAlias = npt.NDArray[np.intp]

# The keys of some rows, and either their vectors or the columns of QuantizedVectors.
VectorBlock: TypeAlias = tuple[npt.NDArray[Any], ...]


@dataclass(frozen=True)
class VectorRows:
    """A snapshot: blocks, and how many of their rows are valid."""

    is_exact: bool = True
    blocks: tuple[VectorBlock, ...] = ()
    count: int = 0

    def append(self, keys: Int64Array, rows: FloatArray) -> "VectorRows":
        """Return the next snapshot, in the same blocks and, where they are full, in new ones."""
        values: VectorBlock = (keys, rows) if self.is_exact else (keys, *quantize(rows))
        blocks, done = list(self.blocks), 0
        while done < len(keys):
            inside = (self.count + done) % BLOCK_ROWS
            if inside == 0:
                blocks.append(tuple(map(allocate_like, values)))
            taken = min(len(keys) - done, BLOCK_ROWS - inside)
            for column, value in zip(blocks[-1], values, strict=True):
                column[inside : inside + taken] = value[done : done + taken]
            done += taken
        return VectorRows(self.is_exact, tuple(blocks), self.count + done)

    def iterate_blocks(self) -> Iterator[tuple[slice, VectorBlock]]:
        """Yield the positions of its rows and the valid part of each block."""
        for number, block in enumerate(self.blocks):
            first = number * BLOCK_ROWS
            valid = min(self.count - first, BLOCK_ROWS)
            yield slice(first, first + valid), tuple(column[:valid] for column in block)

    def take(self, positions: Positions) -> VectorBlock:
        """Return the rows at these ascending positions."""
        bounds = np.searchsorted(positions, np.arange(len(self.blocks) + 1) * BLOCK_ROWS)
        inside = np.split(positions % BLOCK_ROWS, bounds[1:-1])
        columns = zip(*self.blocks, strict=True)
        return tuple(
            np.concatenate([part[rows] for part, rows in zip(column, inside, strict=True)])
            for column in columns
        )


def allocate_like(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column without rows; memory not written yet is not taken from the system."""
    # Scanning one word of the signs of many rows at a time is six times as fast.
    order: Any = "F" if values.dtype == np.uint64 else "C"
    return np.empty((BLOCK_ROWS, *values.shape[1:]), values.dtype, order)


# 100,000 rows of 256 numbers: 102 MB, and 15 ms of CPU for a query. Beyond that codes take a
# sixth of the memory, and a query among a million rows takes 21 ms.
MAX_EXACT_NUMBERS = 25_600_000

# Of the exact best ten and best hundred among 400,000 pieces of code, 2,000 candidates by sign
# hold .997 and .980, and 4,000 hold .999 and .991.
MIN_HAMMING_CANDIDATES = 4_000

# How many candidates there are for each requested row.
CANDIDATES_PER_RESULT = 8

# So many are dequantized at a time: 4,000 at once take 9 MB, which the system gives page by page
# for each search (1,500 faults, 5 ms); 256 stay in the processor's cache and in our memory.
DEQUANTIZED_ROWS = 256

# One row in so many says well enough where the limit lies: counting all of a million takes 3 ms.
SAMPLE_STEP = 32


class InMemoryVectors:
    """Rows of ``dimensions`` numbers; appended by one thread at a time, searched by any."""

    def __init__(
        self,
        dimensions: int,
        *,
        max_exact_numbers: int = MAX_EXACT_NUMBERS,
        rows: VectorRows | None = None,
    ) -> None:
        """``rows`` are those of a snapshot."""
        self._dimensions = dimensions
        self.max_exact_numbers = max_exact_numbers
        self._rows = rows or VectorRows()

    def __len__(self) -> int:
        return self._rows.count

    @property
    def rows(self) -> VectorRows:
        """All rows as they are now."""
        return self._rows

    @property
    def is_exact(self) -> bool:
        """Return whether rows are exact."""
        return self._rows.is_exact

    def collect_keys(self) -> Int64Array:
        """Return the keys of all rows."""
        columns = [block[0] for _, block in self._rows.iterate_blocks()]
        return np.concatenate([np.empty(0, np.int64), *columns])

    def append(self, keys: Int64Array, vectors: AnyFloatArray) -> None:
        """Add rows; a search that starts afterwards sees them."""
        whole = (len(self) + len(keys)) * self._dimensions <= self.max_exact_numbers
        if not whole:
            self.quantize()
        # In pieces, so that the working space does not grow with the number of rows.
        for start in range(0, len(keys), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            self._rows = self._rows.append(keys[part], normalize_rows(vectors[part]))

    def quantize(self) -> None:
        """Replace the exact rows by quantized ones."""
        if not self._rows.is_exact:
            return
        quantized = VectorRows(is_exact=False)
        for _, (keys, vectors) in self._rows.iterate_blocks():
            quantized = quantized.append(keys, vectors)
        self._rows = quantized
        trim_native_memory()

    def find_nearest(self, query: AnyFloatArray, k: int) -> tuple[Int64Array, FloatArray]:
        """Return keys and cosines of the nearest rows, nearest first."""
        rows = self._rows
        single = normalize_rows(query.reshape(1, -1))[0]
        if rows.count == 0 or k <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        if rows.is_exact:
            keys, cosines = _search_exact(rows, single)
        else:
            keys, cosines = _search_quantized(rows, single, k)
        best = _select_best(cosines, k)
        # Rounding may carry a cosine a little past one.
        return keys[best], np.clip(cosines[best], -1, 1)


def _search_exact(rows: VectorRows, query: FloatArray) -> tuple[Int64Array, FloatArray]:
    keys = np.empty(rows.count, np.int64)
    cosines = np.empty(rows.count, np.float32)
    for place, (own, vectors) in rows.iterate_blocks():
        keys[place] = own
        np.dot(vectors, query, out=cosines[place])
    return keys, cosines


def _search_quantized(
    rows: VectorRows, query: FloatArray, wanted: int
) -> tuple[Int64Array, FloatArray]:
    own = pack_signs(query.reshape(1, -1)).T
    differences = np.empty(rows.count, np.uint16)
    # Written again for each block: fresh pages from the system cost more than the comparison.
    words = np.empty((len(own), BLOCK_ROWS), np.uint64)
    bits = np.empty(words.shape, np.uint8)
    for place, (_, signs, *_) in rows.iterate_blocks():
        # Three calls: each acquires the interpreter lock again, which other threads may hold.
        valid = len(signs)
        np.bitwise_xor(signs.T, own, out=words[:, :valid])
        np.bitwise_count(words[:, :valid], out=bits[:, :valid])
        np.add.reduce(bits[:, :valid], axis=0, dtype=np.uint16, out=differences[place])
    chosen = _select_smallest(
        differences, max(MIN_HAMMING_CANDIDATES, wanted * CANDIDATES_PER_RESULT)
    )
    keys, *columns = rows.take(chosen)
    return keys, _compute_cosines(QuantizedVectors(*columns), query)


def _compute_cosines(codes: QuantizedVectors, query: FloatArray) -> FloatArray:
    cosines = np.empty(len(codes.scale), np.float32)
    for first in range(0, len(cosines), DEQUANTIZED_ROWS):
        part = slice(first, first + DEQUANTIZED_ROWS)
        some = QuantizedVectors(codes.signs[part], codes.magnitudes[part], codes.scale[part])
        rows = dequantize(some, len(query))
        np.dot(rows, query, out=cosines[part])
    cosines *= codes.scale
    return cosines


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
