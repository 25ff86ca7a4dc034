"""A checksum for each page of the catalog, because SQLite has none.

The sums lie beside the database (``catalogue.db.sums``). Pages reach the database only from its
log, in ``checkpoint``: the log is kept until the new sums are on the disk, so after a kill a page
agrees either with its sum or with the log. A database without sums is taken over as it is, once
SQLite has found nothing wrong with it.
"""

import logging
import os
import sqlite3
import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.errors import StorageError
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.failures import explain
from kernel.storage.index_shape import is_usable_file

if TYPE_CHECKING:  # read when the log is, which is after the first answers
    from kernel.storage.wal_frames import WalPages

logger = logging.getLogger(__name__)

SUMS_SUFFIX = ".sums"
# Read at a time: within a millisecond or two, after which a search may pass.
STEP_BYTES = 1024 * 1024
# A page that another process is just writing is right a moment later.
MAX_LOOKS = 3
_HEAD = struct.Struct("<8sII")
_MAGIC = b"ckpages1"
_DB_HEADER_BYTES = 100


class PageChecksums:
    """The sums of one database; only the process that writes the database changes them."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._wal = database.with_name(f"{database.name}-wal")
        self.path = database.with_name(f"{database.name}{SUMS_SUFFIX}")

    def checkpoint(self, connection: sqlite3.Connection) -> None:
        """Move pages from the log into the database, and note their sums; then empty the log.

        Raises CatalogueDamaged if the log, or what was written, is not what was committed.
        """
        wal = self._read_wal()
        _, frames, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if frames <= 0:
            return
        if frames > wal.frames:
            raise self._damaged(f"its log has {wal.frames} good frames of {frames}")
        try:
            self._write(self._updated(wal))
        except StorageError as error:  # a full disk: without sums the database is taken over anew
            logger.warning("%s", error)
            with suppress(OSError):
                self.path.unlink()
        if moved == frames:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def verify(self, between_steps: Callable[[], None] = lambda: None) -> bool:
        """Compare every page with its sum; false if there are no sums to compare with.

        Raises CatalogueDamaged for the first page that differs.
        """
        for look in range(MAX_LOOKS):
            sums = self._read_sums()
            if sums is None:
                return False
            try:
                self._compare(sums, self._read_wal(), between_steps)
            except CatalogueDamaged:
                if look == MAX_LOOKS - 1:
                    raise
            else:
                return True
        return False

    def adopt(self) -> None:
        """Take the pages as they are now for right."""
        with suppress(StorageError):  # a full disk: another time
            self._write(array("I", self._page_sums(lambda: None)))

    def forget(self) -> None:
        """Remove the sums; the database is about to be replaced."""
        with suppress(OSError):
            self.path.unlink()

    def _compare(
        self, sums: "array[int]", wal: "WalPages", between_steps: Callable[[], None]
    ) -> None:
        page = 0
        for page, found in enumerate(self._page_sums(between_steps), 1):
            known = sums[page - 1] if page <= len(sums) else None
            if found not in (known, wal.checksums.get(page)):
                raise self._damaged(f"page {page} differs from its checksum")
        if page < len(sums):
            raise self._damaged(f"it has {page} pages of {len(sums)}")

    def _updated(self, wal: "WalPages") -> "array[int]":
        """The sums after a checkpoint; each page that was in the log is read back."""
        sums = self._read_sums()
        if sums is None:
            return array("I", self._page_sums(lambda: None))
        try:
            with self._database.open("rb") as file:
                for page in sorted(wal.checksums):
                    file.seek((page - 1) * wal.page_size)
                    found = zlib.crc32(file.read(wal.page_size))
                    known = sums[page - 1] if page <= len(sums) else None
                    if found not in (known, wal.checksums[page]):
                        raise self._damaged(f"page {page} is not what was written")
                    sums.extend([0] * (page - len(sums)))
                    sums[page - 1] = found
        except OSError as error:
            raise explain(error, self._database) from error
        return sums

    def _page_sums(self, between_steps: Callable[[], None]) -> Iterator[int]:
        if not is_usable_file(self._database):  # whoever opens a pipe waits for ever
            raise self._damaged("it is missing, or not a file that can be read")
        try:
            with self._database.open("rb") as file:
                head = file.read(_DB_HEADER_BYTES)
                size = struct.unpack_from(">H", head, 16)[0] if len(head) == _DB_HEADER_BYTES else 0
                size = 65_536 if size == 1 else size
                if size < 512 or size & (size - 1):  # noqa: PLR2004 - as SQLite's format says
                    raise self._damaged("its header is no database's")
                file.seek(0)
                while step := file.read(STEP_BYTES):
                    between_steps()
                    view = memoryview(step)
                    for start in range(0, len(step), size):
                        yield zlib.crc32(view[start : start + size])
        except OSError as error:
            raise explain(error, self._database) from error

    def _read_wal(self) -> "WalPages":
        from kernel.storage.wal_frames import read_wal  # noqa: PLC0415 - see above

        if os.path.lexists(self._wal) and not is_usable_file(self._wal):
            raise self._damaged("its log is not a file that can be read")
        try:
            return read_wal(self._wal)
        except OSError as error:
            raise explain(error, self._wal) from error

    def _read_sums(self) -> "array[int] | None":
        """The sums; none if there are none, or if they are damaged themselves."""
        if not is_usable_file(self.path):
            return None
        try:
            content = self.path.read_bytes()
        except OSError:
            return None
        body, check = content[:-4], content[-4:]
        if len(body) < _HEAD.size or zlib.crc32(body).to_bytes(4, "little") != check:
            return None
        magic, version, count = _HEAD.unpack_from(body)
        if magic != _MAGIC or version != 1 or len(body) != _HEAD.size + 4 * count:
            return None
        sums = array("I", body[_HEAD.size :])
        if sys.byteorder == "big":
            sums.byteswap()
        return sums

    def _write(self, sums: "array[int]") -> None:
        from kernel.storage.atomic import write_bytes  # noqa: PLC0415 - see above

        if sys.byteorder == "big":
            sums = array("I", sums)
            sums.byteswap()
        body = _HEAD.pack(_MAGIC, 1, len(sums)) + sums.tobytes()
        write_bytes(self.path, body + zlib.crc32(body).to_bytes(4, "little"), mode=0o600)

    def _damaged(self, reason: str) -> CatalogueDamaged:
        return CatalogueDamaged(f"{self._database} is damaged: {reason}")
