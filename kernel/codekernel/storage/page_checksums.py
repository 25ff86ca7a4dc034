"""Checksums of the pages of a SQLite database, kept beside it.

Read the write-ahead log, checkpoint it, and compare every page with its checksum.
"""

import logging
import sqlite3
import struct
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.engines import CatalogDamaged
from codekernel.storage.quarantine import CHECKSUM_SUFFIX
from codekernel.storage.safe_files import (
    add_suffix,
    is_misplaced,
    is_usable_file,
    translate_os_errors,
    write_bytes_atomically,
)

logger = logging.getLogger(__name__)

WAL_HEADER_BYTES = 32

WAL_FRAME_HEADER_BYTES = 24

# Frames that are summed at a time: 4 MB of pages.
WAL_FRAMES_PER_STEP = 1_024

_WAL_MAGIC = 0x377F0682  # the lowest bit says in which byte order the checksums were made

_UINT32_MASK = 0xFFFFFFFF

_PAGE_SIZES = frozenset(512 << power for power in range(8))  # as SQLite's format says

WalChecksum = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WalPages:
    """The committed frames of a log: page and checksum of each."""

    page_size: int = 0
    images: tuple[tuple[int, int], ...] = ()

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return len(self.images)

    def find_written(self, moved: int) -> dict[int, int]:
        """Return the checksum of each page that a checkpoint of so many frames has written.

        SQLite moves the last image of a page, or none if a reader needs an older one.
        """
        last = {page: number for number, (page, _) in enumerate(self.images)}
        return {page: self.images[at][1] for page, at in last.items() if at < moved}


def read_wal(path: Path) -> WalPages:
    """Return what a recovery of the log at ``path`` would find; raises OSError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return WalPages()
    if len(content) < WAL_HEADER_BYTES:
        return WalPages()
    magic, _, page_size, _, salt_1, salt_2, first, second = struct.unpack_from(">8I", content)
    if magic & ~1 != _WAL_MAGIC or page_size not in _PAGE_SIZES:
        return WalPages()
    order = ">" if magic & 1 else "<"
    head = struct.unpack_from(f"{order}6I", content)
    if _compute_wal_checksum(head) != (first, second):
        return WalPages()
    images: list[tuple[int, int]] = []
    frames = 0
    valid = _iterate_valid_frames(content, page_size, order, (salt_1, salt_2), (first, second))
    for page, size_after, start in valid:
        images.append((page, zlib.crc32(memoryview(content)[start : start + page_size])))
        if size_after:  # the last frame of a transaction
            frames = len(images)
    return WalPages(page_size, tuple(images[:frames]))


def _iterate_valid_frames(
    content: bytes, page_size: int, order: str, salts: WalChecksum, before: WalChecksum
) -> Iterator[tuple[int, int, int]]:
    """Yield page, database size after a commit, and offset of the page, of each intact frame."""
    import numpy as np  # noqa: PLC0415 - a log is first read after the first answers

    length = WAL_FRAME_HEADER_BYTES + page_size
    count = (len(content) - WAL_HEADER_BYTES) // length
    columns, (a, b, c, d) = _compute_checksum_weights(2 + page_size // 4)
    weights = np.array(columns, np.uint32)
    for begin in range(0, count, WAL_FRAMES_PER_STEP):
        some = min(WAL_FRAMES_PER_STEP, count - begin)
        raw = np.frombuffer(content, np.uint8, some * length, WAL_HEADER_BYTES + begin * length)
        table = raw.reshape(some, length)
        heads = np.ascontiguousarray(table[:, :WAL_FRAME_HEADER_BYTES]).view(">u4").tolist()
        summed = np.concatenate([table[:, :8], table[:, WAL_FRAME_HEADER_BYTES:]], axis=1)
        words = summed.view(f"{order}u4").astype(np.uint32, copy=False)
        parts = (words @ weights).tolist()
        for place, (head, (one, two)) in enumerate(zip(heads, parts, strict=True)):
            page, size_after, salt_1, salt_2, first, second = head
            x, y = before
            before = (a * x + b * y + one) & _UINT32_MASK, (c * x + d * y + two) & _UINT32_MASK
            if (salt_1, salt_2) != salts or before != (first, second) or page == 0:
                return
            at = WAL_HEADER_BYTES + (begin + place) * length + WAL_FRAME_HEADER_BYTES
            yield page, size_after, at


def _compute_wal_checksum(words: tuple[int, ...]) -> WalChecksum:
    """Return SQLite's checksum, as its documentation defines it."""
    first = second = 0
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & _UINT32_MASK
        second = (second + words[place + 1] + first) & _UINT32_MASK
    return first, second


@lru_cache(maxsize=2)
def _compute_checksum_weights(words: int) -> tuple[list[WalChecksum], tuple[int, int, int, int]]:
    """Return what each word, and each of the two sums before, adds to the sums after them.

    The checksum is linear, so that a frame is one product of numpy: 1,000 frames take 4 ms.
    """
    columns = []
    a, b, c, d = 1, 0, 0, 1  # what a step does to the sums, so often as there are steps after
    for _ in range(0, words, 2):
        columns += [(b, d), ((a + b) & _UINT32_MASK, (c + d) & _UINT32_MASK)]
        a, b, c, d = (value & _UINT32_MASK for value in (a + b, a + 2 * b, c + d, c + 2 * d))
    return columns[::-1], (a, b, c, d)


# Read at a time: a millisecond or two, after which a search may run.
PAGE_READ_BYTES = 1024 * 1024

# A page that another process is writing is complete a moment later.
MAX_VERIFY_ATTEMPTS = 3

_CHECKSUM_FILE_HEADER = struct.Struct("<8sII")

_CHECKSUM_FILE_MAGIC = b"ckpages1"

_DB_HEADER_BYTES = 100


class PageChecksums:
    """The page checksums of one database; only the process that writes it changes them."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._wal = add_suffix(database, "-wal")
        self.path = add_suffix(database, CHECKSUM_SUFFIX)

    def checkpoint(self, connection: sqlite3.Connection) -> None:
        """Move pages from the log into the database and save their checksums; then empty the log.

        Raises CatalogDamaged if the log, or what was written, is not what was committed.
        """
        wal = self._read_wal()
        _, frames, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if frames <= 0:
            return
        if frames > wal.frames:
            raise self._build_damage(f"its log has {wal.frames} good frames of {frames}")
        sums = self._compute_updated(self._read_checksums(), wal, moved)
        try:
            self._write_checksums(sums)
        except StorageError as error:  # a full disk: without checksums the pages are adopted later
            logger.warning("%s", error)
            self.delete()
        if moved == frames:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close_connection(self, connection: sqlite3.Connection) -> None:
        """Close a connection, which moves what is left in the log unless a reader still needs it.

        Raises CatalogDamaged if what was written is not what was committed.
        """
        wal, sums = self._read_wal(), self._read_checksums()
        if wal.frames:
            self.delete()  # until they are true again
        connection.close()
        if wal.frames and sums is not None:
            moved = 0 if self._wal.exists() else wal.frames
            self._write_checksums(self._compute_updated(sums, wal, moved))

    def verify(self, between_steps: Callable[[], None] = lambda: None) -> bool:
        """Compare every page with its checksum; false if there are no checksums.

        Raises CatalogDamaged for the first page that differs.
        """
        for attempt in range(1, MAX_VERIFY_ATTEMPTS + 1):
            sums = self._read_checksums()
            if sums is None:
                return False
            try:
                self._compare_pages(sums, self._read_wal(), between_steps)
            except CatalogDamaged:
                if attempt == MAX_VERIFY_ATTEMPTS:
                    raise
            else:
                return True
        return False

    def adopt_current_pages(self) -> None:
        """Save checksums of the pages as they are now."""
        with suppress(StorageError):  # a full disk: another time
            self._write_checksums(array("I", self._iterate_checksums(lambda: None)))

    def delete(self) -> None:
        """Delete the checksums; the database is about to be written or replaced."""
        with suppress(OSError):
            self.path.unlink()

    def _compare_pages(
        self, sums: "array[int]", wal: WalPages, between_steps: Callable[[], None]
    ) -> None:
        # Before a kill each image in the log may have been moved, or a page behind a hole.
        hole = zlib.crc32(bytes(wal.page_size))
        images = {*wal.images, *((page, hole) for page, _ in wal.images if page > len(sums))}
        page = 0
        for page, found in enumerate(self._iterate_checksums(between_steps), 1):
            known = sums[page - 1] if page <= len(sums) else None
            if found != known and (page, found) not in images:
                raise self._build_damage(f"page {page} differs from its checksum")
        if page < len(sums):
            raise self._build_damage(f"it has {page} pages of {len(sums)}")

    def _compute_updated(
        self, sums: "array[int] | None", wal: WalPages, moved: int
    ) -> "array[int]":
        """Return the checksums after a checkpoint; each page that was written is read back."""
        if sums is None:
            return array("I", self._iterate_checksums(lambda: None))
        with translate_os_errors(self._database), self._database.open("rb") as file:
            for page, written in sorted(wal.find_written(moved).items()):
                file.seek((page - 1) * wal.page_size)
                if zlib.crc32(file.read(wal.page_size)) != written:
                    raise self._build_damage(f"page {page} is not what was written")
                # A page before it that a reader still has in the log is a hole in the file.
                sums.extend([zlib.crc32(bytes(wal.page_size))] * (page - len(sums)))
                sums[page - 1] = written
        return sums

    def _iterate_checksums(self, between_steps: Callable[[], None]) -> Iterator[int]:
        if not is_usable_file(self._database):  # opening a pipe blocks
            raise self._build_damage("it is missing, or not a file that can be read")
        with translate_os_errors(self._database), self._database.open("rb") as file:
            head = file.read(_DB_HEADER_BYTES)
            size = struct.unpack_from(">H", head, 16)[0] if len(head) == _DB_HEADER_BYTES else 0
            size = 65_536 if size == 1 else size
            if size not in _PAGE_SIZES:
                raise self._build_damage("its header is no database's")
            file.seek(0)
            while step := file.read(PAGE_READ_BYTES):
                between_steps()
                view = memoryview(step)
                for start in range(0, len(step), size):
                    yield zlib.crc32(view[start : start + size])

    def _read_wal(self) -> WalPages:
        if is_misplaced(self._wal):
            raise self._build_damage("its log is not a file that can be read")
        with translate_os_errors(self._wal):
            return read_wal(self._wal)

    def _read_checksums(self) -> "array[int] | None":
        """Return the checksums; None if there are none, or if they are damaged themselves."""
        if not is_usable_file(self.path):
            return None
        try:
            content = self.path.read_bytes()
        except OSError:
            return None
        header, body, check = _CHECKSUM_FILE_HEADER, content[:-4], content[-4:]
        if len(body) < header.size or zlib.crc32(body).to_bytes(4, "little") != check:
            return None
        expected = (_CHECKSUM_FILE_MAGIC, 1, (len(body) - header.size) // 4)
        if header.unpack_from(body) != expected or (len(body) - header.size) % 4:
            return None
        return array("I", body[header.size :])

    def _write_checksums(self, sums: "array[int]") -> None:
        body = _CHECKSUM_FILE_HEADER.pack(_CHECKSUM_FILE_MAGIC, 1, len(sums)) + sums.tobytes()
        check = zlib.crc32(body).to_bytes(4, "little")
        write_bytes_atomically(self.path, body + check)

    def _build_damage(self, reason: str) -> CatalogDamaged:
        return CatalogDamaged(f"{self._database} is damaged: {reason}")


def find_page_damage(database: Path) -> CatalogDamaged | None:
    """Return the first page that differs from its checksum, if any, as the error to raise."""
    try:
        PageChecksums(database).verify()
    except CatalogDamaged as damage:
        return damage
    except StorageError:  # it cannot be read now, for another reason
        return None
    return None
