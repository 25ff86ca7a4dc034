"""Which files git tracks: the paths in a repository's index file, versions 2 to 4.

A tracked file is indexed even where a rule would ignore it: git lists it, and people edit it.
A split index is read with the file it shares, a sparse one as far as it names files.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel.walking.ignore_files import read_plain_file

# Some 100 bytes per file: more than three million files.
LARGEST_INDEX_BYTES = 400_000_000
_SIGNATURE = b"DIRC"
_HEADER_BYTES = 12
# Times, device, inode, mode, owner and size, before the object's name.
_STATUS_BYTES = 40
_MODE_AT = 24
_EXTENDED = 0x40
_PADDING = 8
_PREFIX_COMPRESSED = 4
_VERSIONS = (2, 3, 4)
_LINK_EXTENSION = b"link"
_FOLDER_TYPE, _REPOSITORY_TYPE, _TYPE_MASK = 0o040000, 0o160000, 0o170000


@dataclass(frozen=True, slots=True)
class Tracked:
    """Paths from the top of a repository as byte text, folders without a slash at the end."""

    files: frozenset[str]
    folders: frozenset[str]  # that hold something tracked
    repositories: frozenset[str]  # submodules


NOTHING = Tracked(frozenset(), frozenset(), frozenset())


def read_tracked(git_dir: Path, hash_bytes: int) -> Tracked:
    """What the index in ``git_dir`` lists; nothing if there is none or it makes no sense."""
    try:
        entries = list(_entries(git_dir, "index", hash_bytes))
    except (ValueError, IndexError):
        return NOTHING
    files = frozenset(path for path, kind in entries if kind != _REPOSITORY_TYPE)
    repositories = frozenset(path for path, kind in entries if kind == _REPOSITORY_TYPE)
    folders: set[str] = set()
    for path, _ in entries:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return Tracked(files, frozenset(folders), repositories)


def _entries(git_dir: Path, name: str, hash_bytes: int) -> Iterator[tuple[str, int]]:
    data = read_plain_file(git_dir / name, follow=True, limit=LARGEST_INDEX_BYTES) or b""
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != _SIGNATURE or version not in _VERSIONS:
        raise ValueError(f"{git_dir / name} is no index of a version that is known")
    count = int.from_bytes(data[8:12], "big")
    fixed = _STATUS_BYTES + hash_bytes + 2
    begin = _HEADER_BYTES
    path = b""
    for _ in range(count):
        name_at = begin + fixed + (2 if data[begin + fixed - 2] & _EXTENDED else 0)
        if version == _PREFIX_COMPRESSED:
            dropped, name_at = _offset(data, name_at)
            end = data.index(b"\0", name_at)
            path = path[: len(path) - dropped] + data[name_at:end]
            following = end + 1
        else:
            end = data.index(b"\0", name_at)
            path = data[name_at:end]
            following = begin + (end - begin + _PADDING) // _PADDING * _PADDING
        kind = int.from_bytes(data[begin + _MODE_AT : begin + _MODE_AT + 4], "big") & _TYPE_MASK
        if kind != _FOLDER_TYPE and path:
            yield path.decode("latin-1"), kind
        begin = following
    if data[begin : begin + 4] == _LINK_EXTENSION:
        shared = data[begin + 8 : begin + 8 + hash_bytes].hex()
        if int(shared, 16):
            yield from _entries(git_dir, f"sharedindex.{shared}", hash_bytes)


def _offset(data: bytes, position: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, as git packs it, and where it ends."""
    byte = data[position]
    value = byte & 0x7F
    while byte & 0x80:
        position += 1
        byte = data[position]
        value = (value + 1 << 7) | (byte & 0x7F)
    return value, position + 1
