"""Rows in memory in blocks: filled from the front, never moved, read while they are filled."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from kernel.storage.vector_codes import (
    Bytes,
    Codes,
    FloatArray,
    Int64Array,
    Words,
    bytes_of,
    encode,
    words_of,
)

Differences: TypeAlias = npt.NDArray[np.uint16]

# Enough that a call of numpy costs little per row, few enough that a block's working space stays
# in the processor's cache: the signs of 1M rows of 256 numbers are compared in 5 ms of CPU.
BLOCK_ROWS = 16_384


class Block(Protocol):
    """Room for ``BLOCK_ROWS`` rows; memory not written yet is not taken from the system."""

    @classmethod
    def empty(cls, dimensions: int) -> Self:
        """A block without rows."""

    def write(self, start: int, keys: Int64Array, rows: FloatArray) -> None:
        """Put rows of length one at ``start``."""


BlockKind = TypeVar("BlockKind", bound=Block)


@dataclass(frozen=True)
class Rows(Generic[BlockKind]):
    """A snapshot: these blocks, of which so many rows count."""

    kind: type[BlockKind]
    dimensions: int
    blocks: tuple[BlockKind, ...] = ()
    count: int = 0

    def extended(self, keys: Int64Array, rows: FloatArray) -> Self:
        """The next snapshot, in the same blocks and, where they are full, in new ones."""
        blocks, count, done = list(self.blocks), self.count, 0
        while done < len(keys):
            inside = count % BLOCK_ROWS
            if inside == 0:
                blocks.append(self.kind.empty(self.dimensions))
            part = slice(done, min(len(keys), done + BLOCK_ROWS - inside))
            blocks[-1].write(inside, keys[part], rows[part])
            count += part.stop - part.start
            done = part.stop
        return replace(self, blocks=tuple(blocks), count=count)

    def filled(self) -> Iterator[tuple[int, int, BlockKind]]:
        """Each block, with the positions of its first row and after its last."""
        for number, block in enumerate(self.blocks):
            first = number * BLOCK_ROWS
            yield first, min(self.count, first + BLOCK_ROWS), block


@dataclass(frozen=True)
class WholeBlock:
    """Rows as they are: products are exact."""

    keys: Int64Array
    vectors: FloatArray

    @classmethod
    def empty(cls, dimensions: int) -> Self:
        """A block without rows."""
        return cls(np.empty(BLOCK_ROWS, np.int64), np.empty((BLOCK_ROWS, dimensions), np.float32))

    def write(self, start: int, keys: Int64Array, rows: FloatArray) -> None:
        """Put rows of length one at ``start``."""
        self.keys[start : start + len(keys)] = keys
        self.vectors[start : start + len(keys)] = rows


@dataclass(frozen=True)
class CodedBlock:
    """Rows in five bits a number."""

    keys: Int64Array
    signs: Words
    sizes: Bytes
    scale: FloatArray

    @classmethod
    def empty(cls, dimensions: int) -> Self:
        """A block without rows."""
        return cls(
            np.empty(BLOCK_ROWS, np.int64),
            np.empty((words_of(dimensions), BLOCK_ROWS), np.uint64),
            np.empty((BLOCK_ROWS, bytes_of(dimensions)), np.uint8),
            np.empty(BLOCK_ROWS, np.float32),
        )

    def write(self, start: int, keys: Int64Array, rows: FloatArray) -> None:
        """Put rows of length one at ``start``."""
        codes = encode(rows)
        place = slice(start, start + len(keys))
        self.keys[place] = keys
        self.signs[:, place] = codes.signs
        self.sizes[place] = codes.sizes
        self.scale[place] = codes.scale

    def differences(self, signs: Words, total: Differences) -> None:
        """Write into ``total`` in how many signs each row differs; as many rows as it is long."""
        # Three calls: each takes the interpreter's lock anew, which others may hold meanwhile.
        words = np.bitwise_xor(self.signs[:, : len(total)], signs[:, np.newaxis])
        np.add.reduce(np.bitwise_count(words), axis=0, dtype=np.uint16, out=total)


class WholeRows(Rows[WholeBlock]):
    """A snapshot of rows as they are."""


class CodedRows(Rows[CodedBlock]):
    """A snapshot of rows in five bits a number."""

    def codes(self, positions: npt.NDArray[np.intp]) -> tuple[Int64Array, Codes]:
        """Keys and codes of the rows at these positions, which ascend."""
        keys = np.empty(len(positions), np.int64)
        signs = np.empty((words_of(self.dimensions), len(positions)), np.uint64)
        sizes = np.empty((len(positions), bytes_of(self.dimensions)), np.uint8)
        scale = np.empty(len(positions), np.float32)
        for first, end, block in self.filled():
            low, high = np.searchsorted(positions, (first, end))
            inside = positions[low:high] - first
            keys[low:high] = block.keys[inside]
            signs[:, low:high] = block.signs[:, inside]
            sizes[low:high] = block.sizes[inside]
            scale[low:high] = block.scale[inside]
        return keys, Codes(signs, sizes, scale)
