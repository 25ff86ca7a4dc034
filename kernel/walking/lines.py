r"""Some lines of one file as it is now, wherever it lies in the repository, however large it is.

A line ends with "\n", as in ``chunking/source_lines.py``.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel.domain.confinement.beneath import LeavesRoot, reach
from kernel.domain.confinement.folder_handle import FolderHandle
from kernel.errors import InvalidPath
from kernel.walking.encodings import DAMAGED_UTF_8, Decoded, decode, looks_binary

MOST_LINES = 2_000
# One line of a minified file may be longer than everything a page can show.
MOST_CHARACTERS = 1_000_000
# What is larger is not loaded: its encoding is that of its beginning, and it is looked through for
# the lines that are asked for.
LARGEST_LOADED_BYTES = 16 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
_LONGEST_CHARACTER_BYTES = 4
# In these a newline is not one byte, so that its lines cannot be found without decoding it all.
_WIDE = ("utf-16", "utf-32")


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines ``begin`` (0-based) up to, not including, ``end``, of ``count`` that there are."""

    content: str
    begin: int
    end: int
    count: int


def read_lines(root: Path, path: str, begin: int, end: int) -> Lines:
    """The lines that are there; fewer than asked for at the end of the file, or of our patience.

    Raises InvalidPath if ``path`` is no readable text file inside ``root``, links resolved.
    """
    end = min(max(begin, end), begin + MOST_LINES)
    descriptor = _opened(root, path)
    try:
        head = _read_up_to(descriptor, LARGEST_LOADED_BYTES + 1)
        if len(head) <= LARGEST_LOADED_BYTES:
            return _lines_of(_decoded(path, head).text, begin, end)
        encoding = _decoded(path, _whole_lines(head)).encoding
        if encoding.startswith(_WIDE):
            raise InvalidPath(f"{path} is too large to be shown here: open it in an editor")
        return _lines_within(descriptor, encoding, begin, end)
    except OSError as error:
        raise InvalidPath(f"{path} cannot be read: {error.strerror or error}") from error
    finally:
        os.close(descriptor)


def _opened(root: Path, path: str) -> int:
    """The descriptor of a regular file that lies inside the root."""
    try:
        with reach(FolderHandle.open(root, follow=True), root, path) as place:
            # Opening a device can do something to it, so what is no file is not even opened.
            _must_be_file(path, place.must_exist())
            descriptor = place.open_file()
    except LeavesRoot as error:
        raise InvalidPath(f"{path} leads out of the repository") from error
    except ValueError as error:
        raise InvalidPath(f"{path!r} is no path of a file") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InvalidPath(f"there is no file {path} in the repository any more") from error
    except OSError as error:
        raise InvalidPath(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        _must_be_file(path, os.fstat(descriptor))
    except InvalidPath:
        os.close(descriptor)
        raise
    return descriptor


def _must_be_file(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InvalidPath(f"{path or 'the repository itself'} is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidPath(f"{path} is not a file with text in it")


def _decoded(path: str, data: bytes) -> Decoded:
    decoded = decode(data)
    if decoded is None:
        reason = "is binary" if looks_binary(data) else "is in no encoding that is recognised"
        raise InvalidPath(f"{path} {reason}, so that it has no lines to show")
    return decoded


def _whole_lines(head: bytes) -> bytes:
    """The beginning of a file without the character that it may end in the middle of."""
    length = head.rfind(b"\n") + 1
    if looks_binary(head):
        length -= length % 2  # where a newline is two bytes, the second of them may be left
    return head[:length] or head


def _lines_of(text: str, begin: int, end: int) -> Lines:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    chosen = lines[begin:end]
    content = "\n".join(chosen)
    if chosen and (begin + len(chosen) < len(lines) or text.endswith("\n")):
        content += "\n"
    return _bounded(content, min(begin, len(lines)), len(lines))


def _lines_within(descriptor: int, encoding: str, begin: int, end: int) -> Lines:
    """The same for a file that is too large to be loaded."""
    start, stop, count = _span(descriptor, begin, end)
    os.lseek(descriptor, start, os.SEEK_SET)
    longest = MOST_CHARACTERS * _LONGEST_CHARACTER_BYTES
    data = _read_up_to(descriptor, min(stop - start, longest))
    if encoding == DAMAGED_UTF_8 or (encoding == "utf-8-sig" and start):
        encoding = "utf-8"
    return _bounded(data.decode(encoding, errors="replace"), min(begin, count), count)


def _span(descriptor: int, begin: int, end: int) -> tuple[int, int, int]:
    """Where the first and the last of the lines begin and end, in bytes; how many lines there are.

    What is not reached is at the end.
    """
    found = {0: 0}
    number = position = 0
    last = b"\n"
    os.lseek(descriptor, 0, os.SEEK_SET)
    for block in _blocks(descriptor):
        newlines = block.count(b"\n")
        for line in (begin, end):
            if number < line <= number + newlines:
                rest = block.split(b"\n", line - number)[-1]
                found[line] = position + len(block) - len(rest)
        number += newlines
        position += len(block)
        last = block[-1:]
    count = number + (last != b"\n")
    return found.get(begin, position), found.get(end, position), count


def _blocks(descriptor: int) -> Iterator[bytes]:
    while block := os.read(descriptor, _BLOCK_BYTES):
        yield block


def _bounded(content: str, begin: int, count: int) -> Lines:
    """The lines, but no more than a page can show; of a single line its beginning."""
    if len(content) > MOST_CHARACTERS:
        content = content[:MOST_CHARACTERS]
        content = content[: content.rfind("\n") + 1] or content
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    return Lines(content, begin, begin + lines, count)


def _read_up_to(descriptor: int, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit
    while left > 0 and (part := os.read(descriptor, min(left, _BLOCK_BYTES))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
