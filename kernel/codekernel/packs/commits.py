"""The commits around a repository's state, and the files of one of them as a work tree of its own.

Read with git, but without the configuration of the repository: nothing in it can name a program.
"""

import re
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from io import RawIOBase
from pathlib import Path

from codekernel.search.git_history import (
    SILENCE_TIMEOUT_SECONDS,
    GitFailed,
    GitHead,
    HistoryUnavailable,
    read_head,
    stream_git,
)
from codekernel.storage.catalog.catalog_copy import is_path_inside

# Two years of a busy team; git lists them in 50 ms.
MAX_ANCESTORS = 10_000

# As many as fit into any system's command line.
MAX_ASKED_COMMITS = 500

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

_GIT_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


@dataclass(frozen=True, slots=True)
class CommitPlace:
    """A commit, and the folder in it that an index is of."""

    commit: str
    prefix: str = ""

    @property
    def name(self) -> str:
        """What tells it from every other one."""
        return f"{self.commit} {self.prefix}"


def list_ancestors(root: Path, max_count: int = MAX_ANCESTORS) -> list[CommitPlace]:
    """Return the commit that is checked out, and those before it, newest first.

    Raises HistoryUnavailable.
    """
    head = read_head(root)
    arguments = ["rev-list", f"--max-count={max_count}", "--date-order", head.commit]
    lines = _read(head, arguments).decode("ascii", "replace").split()
    return [CommitPlace(commit, head.prefix) for commit in lines if _COMMIT.fullmatch(commit)]


def find_known_commits(root: Path, commits: Sequence[str], prefix: str) -> set[str]:
    """Return those commits that a repository has, if the folder in it is the same one."""
    try:
        head = read_head(root)
    except HistoryUnavailable:
        return set()
    found: set[str] = set()
    for begin in range(0, len(commits) if head.prefix == prefix else 0, MAX_ASKED_COMMITS):
        asked = [each for each in commits[begin : begin + MAX_ASKED_COMMITS] if _is_commit(each)]
        arguments = ["rev-list", "--no-walk=unsorted", "--ignore-missing", *asked]
        found |= set(_read(head, arguments).decode("ascii", "replace").split() if asked else ())
    return found


def find_root_commits(root: Path) -> tuple[str, ...]:
    """Return the oldest commits before what is checked out. Raises HistoryUnavailable."""
    head = read_head(root)
    found = _read(head, ["rev-list", "--max-parents=0", head.commit])
    return tuple(sorted(found.decode("ascii", "replace").split()))


def _is_commit(name: str) -> bool:
    return _COMMIT.fullmatch(name) is not None


def find_commit(root: Path, name: str) -> CommitPlace:
    """Return a commit by its id, or by the beginning of it; HEAD is what is checked out.

    Raises HistoryUnavailable.
    """
    head = read_head(root)
    if name == "HEAD":
        return CommitPlace(head.commit, head.prefix)
    if not re.fullmatch(r"[0-9a-f]{7,64}", name):
        raise HistoryUnavailable(f"{name} is not a commit's id: git rev-parse {name} says it")
    found = _read(head, ["rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}"])
    return CommitPlace(found.decode("ascii").strip(), head.prefix)


def export_commit(root: Path, place: CommitPlace, folder: Path) -> Path:
    """Write the files of a commit into a folder, as git would check them out.

    Returns the folder in it that an index is of. Submodules, and what ``.gitattributes`` leaves out
    of archives, are not there. Raises HistoryUnavailable.
    """
    head = replace(read_head(root), commit=place.commit)
    arguments = ["archive", "--format=tar", place.commit, "--", place.prefix or "."]
    pieces = stream_git(head, arguments, SILENCE_TIMEOUT_SECONDS)
    try:
        with closing(pieces), tarfile.open(fileobj=_Stream(pieces), mode="r|") as archive:
            for member in archive:
                _write_member(archive, member, folder)
    except (GitFailed, tarfile.TarError) as error:
        raise HistoryUnavailable(f"git cannot read {place.commit[:12]}: {error}") from None
    _make_git_dir(head, folder)
    return folder / place.prefix


def _write_member(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    content = archive.extractfile(member) if member.isreg() else None
    if content is None or not is_path_inside(member.name):  # links are not indexed
        return
    path = folder / member.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.read())


def _make_git_dir(head: GitHead, folder: Path) -> None:
    """Let the folder look checked out: what is tracked is indexed although it is ignored."""
    git_dir = folder / ".git"
    for name in ("objects", "refs"):
        (git_dir / name).mkdir(parents=True)
    (git_dir / "HEAD").write_text(f"{head.commit}\n", "ascii")
    (git_dir / "config").write_text(_GIT_CONFIG, "ascii")
    # Not --index-output: git renames to it from its own folder, which may be on another disk.
    _read(head, ["read-tree", head.commit], git_dir / "index")


def _read(head: GitHead, arguments: list[str], index_file: Path | None = None) -> bytes:
    try:
        pieces = stream_git(head, arguments, SILENCE_TIMEOUT_SECONDS, index_file)
        with closing(pieces) as output:
            return b"".join(output)
    except GitFailed as error:
        raise HistoryUnavailable(f"git cannot read {head.top}: {error}") from None


class _Stream(RawIOBase):
    """What git writes, as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while (size < 0 or len(self._rest) < size) and (piece := next(self._pieces, b"")):
            self._rest += piece
        size = len(self._rest) if size < 0 else size
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken
