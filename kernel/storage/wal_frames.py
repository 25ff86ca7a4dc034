"""Reading SQLite's write-ahead log: which pages it holds, and where its checksums end.

SQLite checks these sums only when it recovers a log, not when it reads pages from one or copies
them into the database.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
# Frames that are summed at a time: 4 MB of pages.
FRAMES_PER_STEP = 1_024
_MAGIC = 0x377F0682  # the lowest bit says in which byte order the checksums were made
_WORD = 0xFFFFFFFF

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WalPages:
    """The committed frames of a log, and the checksum of the last image of each page."""

    page_size: int = 0
    frames: int = 0
    checksums: dict[int, int] = field(default_factory=dict)


def read_wal(path: Path) -> WalPages:
    """Return what a recovery of the log at ``path`` would find; raises OSError."""
    try:
        with path.open("rb") as file:
            content = file.read()
    except FileNotFoundError:
        return WalPages()
    if len(content) < HEADER_BYTES:
        return WalPages()
    magic, _, page_size, _, salt_1, salt_2, first, second = struct.unpack_from(">8I", content)
    if magic & ~1 != _MAGIC or page_size < 512 or page_size & (page_size - 1):  # noqa: PLR2004
        return WalPages()
    order = ">" if magic & 1 else "<"
    head = struct.unpack_from(f"{order}6I", content)
    if _summed(head, (0, 0)) != (first, second):
        return WalPages()
    committed: dict[int, int] = {}
    waiting: dict[int, int] = {}
    frames = 0
    valid = _valid_frames(content, page_size, order, (salt_1, salt_2), (first, second))
    for number, (page, size_after, start) in enumerate(valid, 1):
        waiting[page] = zlib.crc32(memoryview(content)[start : start + page_size])
        if size_after:  # the last frame of a transaction
            committed.update(waiting)
            waiting.clear()
            frames = number
    return WalPages(page_size, frames, committed)


def _valid_frames(
    content: bytes, page_size: int, order: str, salts: Pair, before: Pair
) -> Iterator[tuple[int, int, int]]:
    """Page, size of the database after a commit, and place of the page, of each intact frame."""
    import numpy as np  # noqa: PLC0415 - a log is first read after the first answers

    length = FRAME_HEADER_BYTES + page_size
    count = (len(content) - HEADER_BYTES) // length
    weights, (a, b, c, d) = _weights(2 + page_size // 4)
    for begin in range(0, count, FRAMES_PER_STEP):
        some = min(FRAMES_PER_STEP, count - begin)
        raw = np.frombuffer(content, np.uint8, some * length, HEADER_BYTES + begin * length)
        table = raw.reshape(some, length)
        heads = np.ascontiguousarray(table[:, :FRAME_HEADER_BYTES]).view(">u4").tolist()
        summed = np.concatenate([table[:, :8], table[:, FRAME_HEADER_BYTES:]], axis=1)
        words = summed.view(f"{order}u4").astype(np.uint32, copy=False)
        parts = (words @ weights).tolist()
        for place, (head, (one, two)) in enumerate(zip(heads, parts, strict=True)):
            page, size_after, salt_1, salt_2, first, second = head
            x, y = before
            before = (a * x + b * y + one) & _WORD, (c * x + d * y + two) & _WORD
            if (salt_1, salt_2) != salts or before != (first, second) or page == 0:
                return
            at = HEADER_BYTES + (begin + place) * length + FRAME_HEADER_BYTES
            yield page, size_after, at


def _summed(words: tuple[int, ...], start: Pair) -> Pair:
    """SQLite's checksum, as its documentation has it."""
    first, second = start
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & _WORD
        second = (second + words[place + 1] + first) & _WORD
    return first, second


@lru_cache(maxsize=2)
def _weights(words: int) -> "tuple[npt.NDArray[np.uint32], tuple[int, int, int, int]]":
    """What each word, and each of the two sums before, adds to the sums after so many words.

    The checksum is linear, so that a frame is one product of numpy: 1,000 frames take 4 ms.
    """
    import numpy as np  # noqa: PLC0415 - a log is first read after the first answers

    columns = np.empty((words, 2), np.uint32)
    a, b, c, d = 1, 0, 0, 1  # what a step does to the sums, so often as there are steps after
    for place in range(words - 2, -1, -2):
        columns[place] = (a + b) & _WORD, (c + d) & _WORD
        columns[place + 1] = b, d
        a, b, c, d = (value & _WORD for value in (a + b, a + 2 * b, c + d, c + 2 * d))
    return columns, (a, b, c, d)
