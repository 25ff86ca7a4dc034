"""A snapshot of a table's vectors as they are in memory, read without LanceDB.

A cache: it belongs to one version of the table, has a checksum, and is left out if anything is
wrong with it. Opening LanceDB takes two seconds of CPU, reading 22,000 vectors from here 30 ms.
"""

import json
import logging
import math
import os
from collections.abc import Iterator
from hashlib import blake2b
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codekernel.errors import StorageError
from codekernel.storage.quarantine import quarantine_derived_file
from codekernel.storage.safe_files import (
    is_misplaced,
    is_usable_tree,
    open_regular,
    read_regular,
    write_bytes_atomically,
)
from codekernel.storage.vectors.in_memory_vectors import (
    BLOCK_ROWS,
    InMemoryVectors,
    VectorBlock,
    VectorRows,
    allocate_like,
    normalize_rows,
)
from codekernel.storage.vectors.snapshot_files import get_snapshot_path

logger = logging.getLogger(__name__)

_MAGIC = b"codekernel vectors 2\n"
_DIGEST_BYTES = 32
# A digest takes a second for a gigabyte.
MAX_DIGESTED_BYTES = 128 * 1024 * 1024
_MAX_HEADER_BYTES = 4096


def read_table_version(folder: Path) -> str:
    """Return what names the content of every file of the table; "" if it cannot be read.

    Of a large table the names, sizes and times of its files, for reading it all would take seconds:
    LanceDB writes no file twice, so that each commit adds a name. A byte of such a table that is
    damaged is found when the table itself is read, by the fingerprints of its rows; until then
    every answer comes from the snapshot, which has a digest of its own.
    """
    found = blake2b(digest_size=_DIGEST_BYTES)
    try:
        if not is_usable_tree(folder):
            return ""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        stamps = [path.stat() for path in files]
        is_small = sum(stamp.st_size for stamp in stamps) <= MAX_DIGESTED_BYTES
        for path, stamp in zip(files, stamps, strict=True):
            name = path.relative_to(folder).as_posix()
            time = 0 if is_small else stamp.st_mtime_ns
            found.update(f"{name} {stamp.st_size} {time}\n".encode())
            if is_small:
                found.update(read_regular(path))
    except OSError:
        return ""
    return found.hexdigest() if files else ""


def count_table_versions(folder: Path) -> int:
    """Return how many versions of the table are on disk."""
    return sum(1 for _ in (folder / "rows.lance" / "_versions").glob("*.manifest"))


def write_snapshot(folder: Path, dimensions: int, vectors: InMemoryVectors) -> bool:
    """Write the vectors of the present version of the table; false if the disk refuses it."""
    rows = vectors.rows
    header = {
        "version": read_table_version(folder),
        "dimensions": dimensions,
        "count": rows.count,
        "isExact": rows.is_exact,
        "columns": [
            [str(_to_stored(column).dtype), list(column.shape[1:])]
            for _, block in islice(rows.iterate_blocks(), 1)
            for column in block
        ],
    }
    line = json.dumps(header).encode() + b"\n"
    digest = blake2b(line, digest_size=_DIGEST_BYTES)
    for part in _iterate_parts(rows):  # twice, for all of it together would take its size again
        digest.update(part)
    path = get_snapshot_path(folder)
    try:
        if is_misplaced(path):
            quarantine_derived_file(path)
        write_bytes_atomically(path, chain((_MAGIC, digest.digest(), line), _iterate_parts(rows)))
    except StorageError as error:
        logger.info("the vectors in %s have no snapshot. %s", folder, error)
        return False
    return True


def read_snapshot(folder: Path, dimensions: int, max_exact_numbers: int) -> InMemoryVectors | None:
    """Return the vectors of the table's present version; None if there is no intact snapshot."""
    version = read_table_version(folder)
    path = get_snapshot_path(folder)
    if not version or not path.exists():
        return None
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            digest, header = _read_header(file)
            if (header["version"], header["dimensions"]) != (version, dimensions):
                return None
            rows = _read_rows(file, header, digest)
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        logger.info("the snapshot %s is not used: %s", path, error)
        return None
    if rows.is_exact != (rows.count * dimensions <= max_exact_numbers):
        return None
    return InMemoryVectors(dimensions, max_exact_numbers=max_exact_numbers, rows=rows)


def _iterate_parts(rows: VectorRows) -> Iterator[bytes]:
    """Yield the columns of each block as they are written."""
    return (_to_bytes(column) for _, block in rows.iterate_blocks() for column in block)


def _to_bytes(column: npt.NDArray[Any]) -> bytes:
    """Return the numbers column by column if they lie so in memory, else row by row."""
    return (column.T if _is_by_column(column.dtype) else _to_stored(column)).tobytes()


def _to_stored(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column as it is written: exact rows in half precision, of which they were made.

    Brought to length one, they are the same again: that changes a number by far less than the half
    of its last bit.
    """
    is_exact_rows = column.dtype == np.float32 and column.ndim > 1
    return column.astype(np.float16) if is_exact_rows else column


def _is_by_column(dtype: np.dtype[Any]) -> bool:
    return dtype == np.uint64


def _read_header(file: BufferedReader) -> tuple["_ExpectedDigest", dict[str, Any]]:
    """Read up to the vectors; return the digest, which has begun, and the header."""
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("it is of another format")
    digest = _ExpectedDigest(file.read(_DIGEST_BYTES))
    line = file.readline(_MAX_HEADER_BYTES)
    digest.update(line)
    header: dict[str, Any] = json.loads(line)
    return digest, header


class _ExpectedDigest:
    """The digest that a file says it has, and the one of what was read."""

    def __init__(self, expected: bytes) -> None:
        self._expected = expected
        self._found = blake2b(digest_size=_DIGEST_BYTES)

    def update(self, content: bytes | memoryview) -> None:
        """Add what was read."""
        self._found.update(content)

    def check(self) -> None:
        """Raise ValueError if a byte is not as it was."""
        if self._found.digest() != self._expected:
            raise ValueError("it is damaged")


def _read_rows(file: BufferedReader, header: dict[str, Any], digest: _ExpectedDigest) -> VectorRows:
    """Read the blocks into memory of their own, which is aligned and can grow."""
    columns = [np.empty((0, *shape), np.dtype(name)) for name, shape in header["columns"]]
    count = int(header["count"])
    row_bytes = sum(column.itemsize * math.prod(column.shape[1:]) for column in columns)
    if count * row_bytes != os.fstat(file.fileno()).st_size - file.tell():  # before it is allocated
        raise ValueError("it has another length")
    blocks: list[VectorBlock] = []
    for first in range(0, count, BLOCK_ROWS):
        block = tuple(map(_allocate_column, columns))
        for column, stored in zip(block, columns, strict=True):
            for part in _list_parts(column[: count - first]):
                read = part if part.dtype == stored.dtype else np.empty(part.shape, stored.dtype)
                content = read.data.cast("B")
                if file.readinto(content) != len(content):
                    raise ValueError("it became shorter")
                digest.update(content)
                if read is not part:
                    part[:] = normalize_rows(read)
        blocks.append(block)
    digest.check()
    return VectorRows(bool(header["isExact"]), tuple(blocks), count)


def _allocate_column(stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
    is_half = stored.dtype == np.float16
    return allocate_like(stored.astype(np.float32) if is_half else stored)


def _list_parts(column: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return the pieces of a column in the order in which they are written."""
    return list(column.T) if _is_by_column(column.dtype) else [column]
