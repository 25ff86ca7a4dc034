"""The commit that is checked out, read from a repository's own files without calling git."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from kernel.walking.ignore_files import read_plain_file
from kernel.walking.ignore_repository import common_dir_of, enclosing_top, git_dir_of

# As git: a reference that leads to itself ends somewhere.
MAX_SYMBOLIC_DEPTH = 5
MAX_REFERENCE_BYTES = 10_000
# Some 70 bytes per reference: more than a million of them.
MAX_PACKED_REFS_BYTES = 100_000_000
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SYMBOLIC = "ref:"
# Names that git allows are a subset of this; what matters is that none leaves the folder.
_REFERENCE_NAME = re.compile(r"refs/(?!.*\.\.)[^\0\\:?*\[~^\s]+")
_REFTABLE_STUB = "refs/heads/.invalid"


class UnreadableHead(Exception):
    """Why there is no commit to begin with, in words that follow the folder's name."""


@dataclass(frozen=True, slots=True)
class GitHead:
    """Where a repository keeps its objects, and the commit that is checked out."""

    top: Path
    common_dir: Path
    commit: str
    prefix: str  # of the folder asked about, from the top of its work tree; "" or with a slash


def read_head(folder: Path) -> GitHead:
    """What is checked out around ``folder``. Raises UnreadableHead."""
    real = Path(os.path.realpath(folder))
    top = enclosing_top(real)
    git_dir = git_dir_of(top) if top else None
    if top is None or git_dir is None:
        raise UnreadableHead("is not in a git repository, so there is no history to learn from")
    common_dir = common_dir_of(git_dir)
    below = real.relative_to(top).as_posix()
    prefix = "" if below == "." else f"{below}/"
    return GitHead(top, common_dir, _resolve("HEAD", git_dir, common_dir), prefix)


def _resolve(name: str, git_dir: Path, common_dir: Path) -> str:
    for _ in range(MAX_SYMBOLIC_DEPTH):
        content = _content_of(name, git_dir, common_dir)
        if _OBJECT_ID.fullmatch(content):
            return content
        if not content.startswith(_SYMBOLIC):
            break
        name = content.removeprefix(_SYMBOLIC).strip()
        if name == _REFTABLE_STUB:
            raise UnreadableHead("keeps its branches in a reftable, which is not read here")
        if not _REFERENCE_NAME.fullmatch(name):
            break
    if name == "HEAD":
        raise UnreadableHead("has a HEAD that cannot be read, so there is no history to learn from")
    raise UnreadableHead("has no commits yet, so there is no history to learn from")


def _content_of(name: str, git_dir: Path, common_dir: Path) -> str:
    """What a reference holds: in this work tree, in the repository, or packed; "" if nowhere."""
    for folder in dict.fromkeys((git_dir, common_dir)):
        content = read_plain_file(folder / name, follow=True, limit=MAX_REFERENCE_BYTES)
        if content is not None:
            return os.fsdecode(content.strip())
    packed = read_plain_file(common_dir / "packed-refs", follow=True, limit=MAX_PACKED_REFS_BYTES)
    pattern = rb"(?m)^([0-9a-f]+) %s$" % re.escape(os.fsencode(name))
    line = re.search(pattern, packed or b"")
    return line[1].decode() if line else ""
