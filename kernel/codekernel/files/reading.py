"""Read a file of the repository.

The whole text as one consistent snapshot for indexing (with its content hash), or a range of
lines to show.
"""

import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.confined_path import OutsideRootError, resolve_confined
from codekernel.domain.folder_handle import FolderHandle, is_regular_file
from codekernel.domain.index import FoundFile, SkippedPath, SkipReason, SourceText
from codekernel.errors import InvalidPath
from codekernel.files.encodings import DAMAGED_UTF_8, DecodedText, decode_text, is_binary
from codekernel.files.skip_rules import reject_by_size, reject_by_text, skip_for_error

CONTENT_HASH_BYTES = 16

# A file that is still being written is read again by the event of its next change.
MAX_READ_ATTEMPTS = 3


class _NotRegularFileError(Exception):
    """Something else than a file is at the path."""

    def __init__(self, status: os.stat_result) -> None:
        super().__init__()
        self.is_link = stat.S_ISLNK(status.st_mode)
        self.is_folder = stat.S_ISDIR(status.st_mode)


def read_source_file(root: Path, found: FoundFile) -> SourceText | SkippedPath:
    """Read and decode the current state of a file, whose size and time are returned with it."""
    path = found.path
    for _ in range(MAX_READ_ATTEMPTS):
        try:
            with _open_regular_file(root, path, follow=False) as (descriptor, before):
                if rejected := reject_by_size(path, before.st_size):
                    return rejected
                data = _read_up_to(descriptor, before.st_size + 1)
                after = os.fstat(descriptor)
        except (_NotRegularFileError, OSError) as met:
            return _skip_unread(path, met)
        is_same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        if is_same and len(data) == before.st_size:
            return _decode_source(path, data, before)
    return SkippedPath(
        path, SkipReason.CHANGING, f"changed while it was read, {MAX_READ_ATTEMPTS} times"
    )


@contextmanager
def _open_regular_file(
    root: Path, path: str, *, follow: bool
) -> Iterator[tuple[int, os.stat_result]]:
    """Open a file inside the root. Raises OSError or _NotRegularFileError."""
    with resolve_confined(FolderHandle.open(root, follow=True), root, path, follow=follow) as place:
        # Opening a device can have effects, so only files are opened.
        if not is_regular_file(status := place.require_status()):
            raise _NotRegularFileError(status)
        descriptor = place.open_file()
    try:
        if not is_regular_file(status := os.fstat(descriptor)):
            raise _NotRegularFileError(status)
        yield descriptor, status
    finally:
        os.close(descriptor)


def _skip_unread(path: str, met: _NotRegularFileError | OSError) -> SkippedPath:
    if isinstance(met, OutsideRootError):
        return SkippedPath(path, SkipReason.OUTSIDE, "leads out of the repository")
    if isinstance(met, OSError) and met.errno != errno.ELOOP:
        return skip_for_error(path, met)
    if isinstance(met, OSError) or met.is_link:
        return SkippedPath(path, SkipReason.LINK, "a link has been put in its place")
    return SkippedPath(
        path, SkipReason.NOT_A_FILE, "something that is no file has been put in its place"
    )


def _decode_source(path: str, data: bytes, status: os.stat_result) -> SourceText | SkippedPath:
    decoded = decode_text(data)
    if decoded is None:
        if is_binary(data):
            return SkippedPath(path, SkipReason.BINARY, "has NUL bytes, as no text has")
        return SkippedPath(path, SkipReason.UNDECODABLE, "in no encoding that is recognised")
    if rejected := reject_by_text(path, decoded.text):
        return rejected
    digest = hashlib.blake2b(data, digest_size=CONTENT_HASH_BYTES).digest()
    return SourceText(decoded.text, decoded.encoding, status.st_size, status.st_mtime_ns, digest)


_READ_BLOCK_BYTES = 1024 * 1024

_MAX_CHARACTER_BYTES = 4

# In these a newline is not one byte, so lines cannot be found without decoding everything.
_WIDE_ENCODINGS = ("utf-16", "utf-32")


@dataclass(frozen=True, slots=True)
class LineLimits:
    """How much of a file is read and returned at once."""

    max_lines: int = 2_000
    # One line of a minified file may be longer than everything a page can show.
    max_chars: int = 1_000_000
    # A larger file is not loaded: its encoding is that of its head, its lines are found by offset.
    max_loaded_bytes: int = 16 * 1024 * 1024
    block_bytes: int = _READ_BLOCK_BYTES


DEFAULT_LINE_LIMITS = LineLimits()


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines ``begin`` (0-based) up to, not including, ``end``, of ``line_count``."""

    content: str
    begin: int
    end: int
    line_count: int


def read_lines(
    root: Path, path: str, begin: int, end: int, limits: LineLimits = DEFAULT_LINE_LIMITS
) -> LineRange:
    """Return the lines that exist, within the limits.

    Raises InvalidPath if ``path`` is no readable text file inside ``root``, links resolved.
    """
    end = min(max(begin, end), begin + limits.max_lines)
    try:
        with _open_regular_file(root, path, follow=True) as (descriptor, _):
            return _read_lines(descriptor, path, begin, end, limits)
    except _NotRegularFileError as met:
        if met.is_folder:
            text = f"{path or 'the repository itself'} is a folder, not a file"
            raise InvalidPath(text) from None
        raise InvalidPath(f"{path} is not a file with text in it") from None
    except OutsideRootError as error:
        raise InvalidPath(f"{path} leads out of the repository") from error
    except ValueError as error:
        raise InvalidPath(f"{path!r} is no path of a file") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InvalidPath(f"there is no file {path} in the repository any more") from error
    except OSError as error:
        raise InvalidPath(f"{path} cannot be read: {error.strerror or error}") from error


def _read_lines(descriptor: int, path: str, begin: int, end: int, limits: LineLimits) -> LineRange:
    head = _read_up_to(descriptor, limits.max_loaded_bytes + 1, limits.block_bytes)
    if len(head) <= limits.max_loaded_bytes:
        return _select_lines(_decode_or_raise(path, head).text, begin, end, limits)
    encoding = _decode_or_raise(path, _truncate_to_whole_lines(head)).encoding
    if encoding.startswith(_WIDE_ENCODINGS):
        raise InvalidPath(f"{path} is too large to be shown here: open it in an editor")
    return _select_lines_of_large_file(descriptor, encoding, begin, end, limits)


def _decode_or_raise(path: str, data: bytes) -> DecodedText:
    decoded = decode_text(data)
    if decoded is None:
        reason = "is binary" if is_binary(data) else "is in no encoding that is recognised"
        raise InvalidPath(f"{path} {reason}, so that it has no lines to show")
    return decoded


def _truncate_to_whole_lines(head: bytes) -> bytes:
    """Return the head of a file without the character it may end in the middle of."""
    length = head.rfind(b"\n") + 1
    if is_binary(head):
        length -= length % 2  # where a newline is two bytes, the second of them may be left
    return head[:length] or head


def _select_lines(text: str, begin: int, end: int, limits: LineLimits) -> LineRange:
    lines = io.StringIO(text, newline="\n").readlines()
    return _limit_lines("".join(lines[begin:end]), min(begin, len(lines)), len(lines), limits)


def _select_lines_of_large_file(
    descriptor: int, encoding: str, begin: int, end: int, limits: LineLimits
) -> LineRange:
    """Select lines of a file that is too large to be loaded."""
    start, stop, count = _find_line_span(descriptor, begin, end, limits.block_bytes)
    os.lseek(descriptor, start, os.SEEK_SET)
    longest = limits.max_chars * _MAX_CHARACTER_BYTES
    data = _read_up_to(descriptor, min(stop - start, longest), limits.block_bytes)
    if encoding == DAMAGED_UTF_8 or (encoding == "utf-8-sig" and start):
        encoding = "utf-8"
    text = data.decode(encoding, errors="replace")
    return _limit_lines(text, min(begin, count), count, limits)


def _find_line_span(
    descriptor: int, begin: int, end: int, block_bytes: int
) -> tuple[int, int, int]:
    """Return the byte offsets of two lines and the number of lines.

    A line behind the end has the offset of the end.
    """
    found = {0: 0}
    number = position = 0
    last = b"\n"
    os.lseek(descriptor, 0, os.SEEK_SET)
    while block := os.read(descriptor, block_bytes):
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


def _limit_lines(content: str, begin: int, count: int, limits: LineLimits) -> LineRange:
    """Return the lines that a page can show; of a single long line its beginning."""
    if len(content) > limits.max_chars:
        content = content[: limits.max_chars]
        content = content[: content.rfind("\n") + 1] or content
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    return LineRange(content, begin, begin + lines, count)


def _read_up_to(descriptor: int, limit: int, block_bytes: int = _READ_BLOCK_BYTES) -> bytes:
    parts: list[bytes] = []
    left = limit
    while left > 0 and (part := os.read(descriptor, min(left, block_bytes))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
