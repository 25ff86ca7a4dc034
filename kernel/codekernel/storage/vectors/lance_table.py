"""A LanceDB table of keys and vectors on disk, and a fingerprint (checksum) for each row.

LanceDB itself runs in a process of its own (lance_process.py): its libraries and what its allocator
keeps are 200 MB, which a kernel that has indexed would not get rid of.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from codekernel.errors import StorageError
from codekernel.storage.safe_files import (
    is_usable_file,
    translate_os_errors,
    write_bytes_atomically,
)
from codekernel.storage.vectors.in_memory_vectors import (
    AnyFloatArray,
    BoolArray,
    Int64Array,
    find_in_sorted,
)
from codekernel.storage.vectors.lance_process import call_lance

FINGERPRINTS_FILE = "rows.sums"

_FINGERPRINT_BYTES = 8

Fingerprints: TypeAlias = npt.NDArray[np.uint64]


class FingerprintFile:
    """The fingerprints of one table; one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FINGERPRINTS_FILE
        self._known: Fingerprints | None = None

    def read(self) -> bool:
        """Read the file; false if there is none to compare with."""
        self._known = None
        if not is_usable_file(self.path):
            return False
        with translate_os_errors(self.path):
            content = self.path.read_bytes()
        whole = len(content) - len(content) % _FINGERPRINT_BYTES
        self._known = np.sort(np.frombuffer(content[:whole], "<u8").astype(np.uint64))
        return True

    def __len__(self) -> int:
        return 0 if self._known is None else len(self._known)

    def contains(self, found: Fingerprints) -> BoolArray:
        """Return for each fingerprint whether it is in the file; true if there was no file."""
        if self._known is None:
            return np.ones(len(found), np.bool_)
        return find_in_sorted(found, self._known)

    def add(self, found: Fingerprints) -> None:
        """Write the fingerprints of rows that are about to be written."""
        with translate_os_errors(self.path), self.path.open("ab") as file:
            # A kill may have left half of one.
            padding = b"\0" * (-file.tell() % _FINGERPRINT_BYTES)
            file.write(padding + found.astype("<u8").tobytes())

    def replace(self, rows: list[Fingerprints]) -> None:
        """Replace the file by these fingerprints."""
        found = np.concatenate([np.empty(0, np.uint64), *rows]).astype("<u8")
        with suppress(StorageError):  # a full disk: another time
            write_bytes_atomically(self.path, found.tobytes())


def compute_fingerprints(keys: Int64Array, vectors: npt.NDArray[np.float16]) -> Fingerprints:
    """Return a number for each row that any changed bit changes."""
    numbers = np.ascontiguousarray(vectors).view(np.uint16)
    weights = _make_weights(numbers.shape[1] + 1)
    if numbers.shape[1] % 2 == 0:  # half as many products
        numbers, weights = numbers.view(np.uint32), weights[: numbers.shape[1] // 2 + 1]
    found: Fingerprints = numbers.astype(np.uint64) @ weights[1:]
    found += keys.astype(np.uint64) * weights[0]
    return found


@lru_cache(maxsize=4)
def _make_weights(count: int) -> Fingerprints:
    """Return fixed random odd numbers: an odd multiple of a bit is never zero."""
    raw = b"".join(
        hashlib.blake2b(place.to_bytes(4, "little"), digest_size=_FINGERPRINT_BYTES).digest()
        for place in range(count)
    )
    odd: Fingerprints = np.frombuffer(raw, "<u8").astype(np.uint64) | np.uint64(1)
    return odd


HalfArray: TypeAlias = npt.NDArray[np.float16]


class LanceTable:
    """An open table; one thread at a time.

    A step on which the process of LanceDB ends is done again by the next one. What was committed
    without our hearing of it is then there twice, as after a kill, and is found as such.
    """

    def __init__(self, folder: Path, dimensions: int, *, is_new: bool = False) -> None:
        self._folder = folder
        self.dimensions, self.is_new = dimensions, is_new
        self.fingerprints = FingerprintFile(folder)

    @classmethod
    def open(cls, folder: Path, dimensions: int) -> "LanceTable":
        """Open the table, or make it; raises VectorsDamaged if it cannot be used."""
        is_new = call_lance(folder, dimensions, "open")
        return cls(folder, dimensions, is_new=is_new)

    def __len__(self) -> int:
        count: int = self._call("count_rows")
        return count

    def iterate_batches(self) -> Iterator[tuple[Int64Array, HalfArray, Fingerprints]]:
        """Yield all rows, some hundreds or thousands at a time; raises VectorsDamaged."""
        place = 0
        while batch := self._call("read_batch", place):
            keys, vectors = batch
            yield keys, vectors, compute_fingerprints(keys, vectors)
            place += 1

    def add(self, keys: Int64Array, vectors: AnyFloatArray) -> None:
        """Add rows in one commit, after their fingerprints."""
        numbers = np.ascontiguousarray(vectors, dtype=np.float16)
        self.fingerprints.add(compute_fingerprints(keys, numbers))
        self._call("add", keys, numbers)

    def delete(self, keys: Int64Array) -> None:
        """Delete every row of these keys, in as many commits as it takes."""
        self._call("delete", keys)

    def delete_duplicates(self) -> None:
        """Delete all but the first row of each key."""
        self._call("delete_duplicates")

    def compact(self) -> None:
        """Merge small files into large ones, and remove what only older versions need."""
        self._call("compact")

    def count_versions(self) -> int:
        """Count the versions on disk."""
        count: int = self._call("count_versions")
        return count

    def _call(self, step: str, *arguments: Any) -> Any:
        return call_lance(self._folder, self.dimensions, step, *arguments)


def read_dimensions(folder: Path) -> int:
    """Return the dimensions of the table; raises VectorsDamaged."""
    dimensions: int = call_lance(folder, 0, "read_dimensions")
    return dimensions
