"""A snapshot of a table's vectors as they are in memory, read without LanceDB.

A cache: it belongs to one version of the table, has a checksum, and is left out if anything is
wrong with it. Opening LanceDB takes two seconds of CPU, reading 22,000 vectors from here 30 ms.
"""

import json
import logging
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codekernel.errors import StorageError
from codekernel.storage.quarantine import quarantine_derived_file
from codekernel.storage.safe_files import (
    is_misplaced,
    is_usable_tree,
    read_regular,
    write_bytes_atomically,
)
from codekernel.storage.vectors import SNAPSHOT_SUFFIX
from codekernel.storage.vectors.in_memory_vectors import (
    BLOCK_ROWS,
    InMemoryVectors,
    VectorBlock,
    VectorRows,
    allocate_like,
)

logger = logging.getLogger(__name__)

_MAGIC = b"codekernel vectors 1\n"
_DIGEST_BYTES = 32
# A digest takes a second for a gigabyte.
MAX_DIGESTED_BYTES = 128 * 1024 * 1024
_MAX_HEADER_BYTES = 4096


def get_snapshot_path(folder: Path) -> Path:
    """Return the path of the snapshot of the table in ``folder``."""
    return folder.with_name(folder.name + SNAPSHOT_SUFFIX)


def read_table_version(folder: Path) -> str:
    """Return what names the content of every file of the table; "" if it cannot be read.

    Of a large table the sizes and times of its files, for reading it all would take seconds.
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
    parts = [_to_bytes(column) for _, block in rows.iterate_blocks() for column in block]
    header = {
        "version": read_table_version(folder),
        "dimensions": dimensions,
        "count": rows.count,
        "isExact": rows.is_exact,
        "columns": [[str(column.dtype), list(column.shape[1:])] for column in rows.blocks[0]]
        if rows.blocks
        else [],
    }
    body = b"".join([json.dumps(header).encode() + b"\n", *parts])
    path = get_snapshot_path(folder)
    try:
        if is_misplaced(path):
            quarantine_derived_file(path)
        digest = blake2b(body, digest_size=_DIGEST_BYTES).digest()
        write_bytes_atomically(path, _MAGIC + digest + body)
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
        header, body = _open_snapshot(memoryview(read_regular(path)))
        if (header["version"], header["dimensions"]) != (version, dimensions):
            return None
        rows = _read_rows(header, body)
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.info("the snapshot %s is not used: %s", path, error)
        return None
    if rows.is_exact != (rows.count * dimensions <= max_exact_numbers):
        return None
    return InMemoryVectors(dimensions, max_exact_numbers=max_exact_numbers, rows=rows)


def remove_snapshot(folder: Path) -> None:
    """Delete the snapshot, because the table itself must be looked at."""
    try:
        get_snapshot_path(folder).unlink(missing_ok=True)
    except OSError as error:
        logger.info("a snapshot stays: %s", error)


def _open_snapshot(content: memoryview) -> tuple[dict[str, Any], memoryview]:
    """Return the header and what follows it; raises ValueError if a byte is not as it was."""
    start = len(_MAGIC) + _DIGEST_BYTES
    body = content[start:]
    digest = blake2b(body, digest_size=_DIGEST_BYTES).digest()
    if content[:start] != _MAGIC + digest:
        raise ValueError("it is damaged, or of another format")
    end = bytes(body[:_MAX_HEADER_BYTES]).index(b"\n")
    header: dict[str, Any] = json.loads(bytes(body[:end]))
    return header, body[end + 1 :]


def _to_bytes(column: npt.NDArray[Any]) -> bytes:
    """Return the numbers column by column if they lie so in memory, else row by row."""
    return (column.T if _is_by_column(column.dtype) else column).tobytes()


def _is_by_column(dtype: np.dtype[Any]) -> bool:
    return dtype == np.uint64


def _read_rows(header: dict[str, Any], body: memoryview) -> VectorRows:
    columns = [(np.dtype(name), tuple(shape)) for name, shape in header["columns"]]
    blocks: list[VectorBlock] = []
    count, place = int(header["count"]), 0
    for first in range(0, count, BLOCK_ROWS):
        valid = min(count - first, BLOCK_ROWS)
        block = []
        for dtype, shape in columns:
            size = valid * int(np.prod(shape, dtype=np.int64))
            flat = np.frombuffer(body, dtype, size, place)
            place += flat.nbytes
            block.append(_shape_column(flat, valid, shape))
        blocks.append(tuple(block))
    if place != len(body):
        raise ValueError("it has another length")
    return VectorRows(bool(header["isExact"]), tuple(blocks), count)


def _shape_column(flat: npt.NDArray[Any], valid: int, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return the column of a block; one that can still grow is copied, for it is written to."""
    by_column = _is_by_column(flat.dtype)
    column = flat.reshape((*shape[::-1], valid)).T if by_column else flat.reshape((valid, *shape))
    if valid == BLOCK_ROWS:
        return column
    grown = allocate_like(column)
    grown[:valid] = column
    return grown
