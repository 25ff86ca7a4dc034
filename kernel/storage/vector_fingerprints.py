"""A fingerprint for each row of a vector table, because LanceDB has no checksums.

A row is whole if the fingerprint of its key and its numbers is among those that were written, which
lie beside the table (``rows.sums``). A fingerprint is written before its row: one too many does no
harm, and a row without one has its text embedded again. A table without such a file is taken over
as it is.
"""

import hashlib
import logging
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kernel.errors import StorageError
from kernel.storage.atomic import write_bytes
from kernel.storage.failures import explain
from kernel.storage.index_shape import is_usable_file
from kernel.storage.vector_codes import AnyFloats, BoolArray, Int64Array

logger = logging.getLogger(__name__)

FINGERPRINTS_FILE = "rows.sums"
_BYTES = 8

Fingerprints: TypeAlias = npt.NDArray[np.uint64]


class FingerprintFile:
    """The fingerprints of one table; one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FINGERPRINTS_FILE
        self._known: Fingerprints | None = None

    def read(self) -> bool:
        """Read what was written; false if there is no file, so that nothing can be compared."""
        if not is_usable_file(self.path):
            self._known = None
            return False
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise explain(error, self.path) from error
        whole = len(content) - len(content) % _BYTES
        self._known = np.sort(np.frombuffer(content[:whole], "<u8").astype(np.uint64))
        return True

    def __len__(self) -> int:
        return 0 if self._known is None else len(self._known)

    def holds(self, found: Fingerprints) -> BoolArray:
        """For each row's fingerprint, whether the row is as it was written."""
        if self._known is None or len(self._known) == 0:
            return np.zeros(len(found), np.bool_)
        places = np.minimum(np.searchsorted(self._known, found), len(self._known) - 1)
        same: BoolArray = self._known[places] == found
        return same

    def add(self, keys: Int64Array, vectors: AnyFloats) -> None:
        """Write the fingerprints of rows that are about to be written."""
        content = fingerprints(keys, vectors.astype(np.float16, copy=False)).astype("<u8").tobytes()
        try:
            with self.path.open("ab") as file:
                # A kill may have left half of one.
                file.write(b"\0" * (-file.tell() % _BYTES) + content)
        except OSError as error:
            raise explain(error, self.path) from error

    def replace(self, rows: "list[Fingerprints]") -> None:
        """Keep these alone: rows that were taken over, or all that are left."""
        found = np.concatenate([np.empty(0, np.uint64), *rows]).astype("<u8")
        with suppress(StorageError):  # a full disk: another time
            write_bytes(self.path, found.tobytes(), mode=0o600)


def fingerprints(keys: Int64Array, vectors: npt.NDArray[np.float16]) -> Fingerprints:
    """A number for each row that any changed bit changes."""
    numbers = np.ascontiguousarray(vectors).view(np.uint16)
    weights = _weights(numbers.shape[1] + 1)
    if numbers.shape[1] % 2 == 0:  # half as many products
        numbers, weights = numbers.view(np.uint32), weights[: numbers.shape[1] // 2 + 1]
    found: Fingerprints = numbers.astype(np.uint64) @ weights[1:]
    found += keys.astype(np.uint64) * weights[0]
    return found


@lru_cache(maxsize=4)
def _weights(count: int) -> Fingerprints:
    """Odd numbers by chance, the same for ever: an odd multiple of a bit is never zero."""
    raw = b"".join(
        hashlib.blake2b(place.to_bytes(4, "little"), digest_size=_BYTES).digest()
        for place in range(count)
    )
    odd: Fingerprints = np.frombuffer(raw, "<u8").astype(np.uint64) | np.uint64(1)
    return odd
