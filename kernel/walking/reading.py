"""The text of a found file, read as one state of it, whatever happens to the file meanwhile."""

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from kernel.domain.confinement.beneath import LeavesRoot, reach
from kernel.domain.confinement.folder_handle import FolderHandle, is_regular_file
from kernel.domain.source import FoundFile, LeftOut, Reason, SourceText
from kernel.walking.encodings import decode, looks_binary
from kernel.walking.entries import refused
from kernel.walking.suspects import suspect_size, suspect_text

DIGEST_BYTES = 16
# A file that is still being written is read again by the event of its next change.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class _Snapshot:
    data: bytes
    size: int
    mtime_ns: int


def read(root: Path, found: FoundFile) -> SourceText | LeftOut:
    """The text as it is now, not as it was when ``found``; the sizes and times say which."""
    name = found.path.rpartition("/")[2]
    for _ in range(ATTEMPTS):
        try:
            taken = _snapshot(root, found.path, name)
        except LeavesRoot:
            return LeftOut(found.path, Reason.OUTSIDE, "leads out of the repository")
        except OSError as error:
            if error.errno == errno.ELOOP:
                return LeftOut(found.path, Reason.LINK, "a link has been put in its place")
            return refused(found.path, error)
        if isinstance(taken, LeftOut):
            return taken
        if taken:
            return _text(found.path, name, taken)
    return LeftOut(found.path, Reason.CHANGING, f"changed while it was read, {ATTEMPTS} times")


def _snapshot(root: Path, path: str, name: str) -> _Snapshot | LeftOut | None:
    """All bytes of one state of the file; None if it changed meanwhile. Raises OSError."""
    with reach(FolderHandle.open(root, follow=True), root, path, follow=False) as place:
        # Opening a device can do something to it, so what is no file is not even opened.
        status = place.must_exist()
        if not is_regular_file(status):
            return _no_file(path, status)
        descriptor = place.open_file()
    try:
        before = os.fstat(descriptor)
        if not is_regular_file(before):
            return _no_file(path, before)
        suspicion = suspect_size(name, before.st_size)
        if suspicion:
            return LeftOut(path, suspicion.reason, suspicion.detail)
        data = _read_up_to(descriptor, before.st_size + 1)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    if not same or len(data) != before.st_size:
        return None
    return _Snapshot(data, before.st_size, before.st_mtime_ns)


def _text(path: str, name: str, taken: _Snapshot) -> SourceText | LeftOut:
    decoded = decode(taken.data)
    if decoded is None:
        if looks_binary(taken.data):
            return LeftOut(path, Reason.BINARY, "has NUL bytes, as no text has")
        return LeftOut(path, Reason.UNDECODABLE, "in no encoding that is recognised")
    suspicion = suspect_text(name, decoded.text)
    if suspicion:
        return LeftOut(path, suspicion.reason, suspicion.detail)
    digest = hashlib.blake2b(taken.data, digest_size=DIGEST_BYTES).digest()
    return SourceText(decoded.text, decoded.encoding, taken.size, taken.mtime_ns, digest)


def _read_up_to(descriptor: int, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _no_file(path: str, status: os.stat_result) -> LeftOut:
    if stat.S_ISLNK(status.st_mode):
        return LeftOut(path, Reason.LINK, "a link has been put in its place")
    return LeftOut(path, Reason.NOT_A_FILE, "something that is no file has been put in its place")
