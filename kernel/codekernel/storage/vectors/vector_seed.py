"""Vectors that came from elsewhere as a file, and become a table when it is first written.

Making a table takes LanceDB, two seconds of CPU: a repository that was opened with vectors of its
team is searched before that. While the file is there, it holds all vectors; the table does not
count.
"""

import logging
import shutil
import struct
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from codekernel.storage.safe_files import (
    is_usable_file,
    make_private_folder,
    read_size,
    translate_os_errors,
    write_bytes_atomically,
)
from codekernel.storage.vectors import SEED_SUFFIX
from codekernel.storage.vectors.in_memory_vectors import BLOCK_ROWS, Int64Array
from codekernel.storage.vectors.lance_table import HalfArray, LanceTable

logger = logging.getLogger(__name__)

_MAGIC = b"ckseed1\n"
_DIGEST_BYTES = 32
# A larger one becomes a table with the first addition, rather than being written again: this
# takes 30 ms, and a table 2 s.
MAX_EXTENDED_BYTES = 64 * 1024 * 1024

_HEADER = struct.Struct(f"<{len(_MAGIC)}sIQ{_DIGEST_BYTES}s")


class SeedVectors(NamedTuple):
    """All rows of a seed."""

    keys: Int64Array
    vectors: HalfArray


def get_seed_path(folder: Path) -> Path:
    """Return the path of the seed of the table in ``folder``."""
    return folder.with_name(folder.name + SEED_SUFFIX)


def has_seed(folder: Path) -> bool:
    """Return whether the vectors are in a seed, and not in a table yet."""
    return get_seed_path(folder).exists()


def write_seed(folder: Path, seed: SeedVectors) -> None:
    """Write the seed of a table that is not there yet. Raises StorageError."""
    make_private_folder(folder.parent)
    write_bytes_atomically(get_seed_path(folder), _encode(seed))


def read_seed(folder: Path, dimensions: int) -> SeedVectors | None:
    """Return what is in the seed of a table; None if there is none, or it is damaged."""
    path = get_seed_path(folder)
    if not is_usable_file(path):
        return None
    with translate_os_errors(path):
        content = path.read_bytes()
    problem = "it is too short"
    if len(content) >= _HEADER.size:
        magic, width, count, digest = _HEADER.unpack_from(content)
        body = memoryview(content)[_HEADER.size :]
        if magic == _MAGIC and width == dimensions and len(body) == count * (8 + 2 * width):
            keys = np.frombuffer(body[: 8 * count], "<i8").astype(np.int64)
            vectors = np.frombuffer(body[8 * count :], "<f2").reshape(count, width)
            if digest == _digest(body):
                return SeedVectors(keys, vectors)
        problem = "it is damaged, or of another model"
    logger.warning("%s is not used: %s", path, problem)
    remove_seed(folder)
    return None


def extend_seed(folder: Path, keys: Int64Array, vectors: HalfArray) -> bool:
    """Add rows to a seed; false if there is none, or one that is large enough for a table."""
    path = get_seed_path(folder)
    if read_size(path) > MAX_EXTENDED_BYTES:
        return False
    seed = read_seed(folder, vectors.shape[1])
    if seed:
        joined = np.concatenate([seed.keys, keys]), np.concatenate([seed.vectors, vectors])
        write_bytes_atomically(path, _encode(SeedVectors(*joined)))
    return seed is not None


def plant_seed(folder: Path, dimensions: int) -> LanceTable:
    """Make the table; a kill in the middle leaves the seed, and it is made again."""
    seed = read_seed(folder, dimensions)
    if seed is None:  # somebody has deleted it
        return LanceTable.open(folder, dimensions)
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
    table = LanceTable.open(folder, dimensions)
    for start in range(0, len(seed.keys), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        table.add(seed.keys[part], seed.vectors[part])
    remove_seed(folder)
    return table


def remove_seed(folder: Path) -> None:
    """Delete a seed, because there is a table."""
    path = get_seed_path(folder)
    with translate_os_errors(path):
        path.unlink(missing_ok=True)


def _encode(seed: SeedVectors) -> bytes:
    vectors = np.ascontiguousarray(seed.vectors, "<f2")
    body = seed.keys.astype("<i8").tobytes() + vectors.tobytes()
    return _HEADER.pack(_MAGIC, vectors.shape[1], len(vectors), _digest(body)) + body


def _digest(body: bytes | memoryview) -> bytes:
    return blake2b(body, digest_size=_DIGEST_BYTES).digest()
