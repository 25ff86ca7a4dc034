"""Repositories -> parts to build: a commit's files, cut into parts of a few megabytes.

The name of a part says what is in it, so that what was built once is not built again, by nobody.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile
from codekernel.errors import WrongParam
from codekernel.files.walk import FileWalker
from codekernel.packs.commits import CommitPlace, export_commit, find_commit
from codekernel.packs.index_packs import make_label
from codekernel.search.git_history import HistoryUnavailable

# A part is built in memory: some 5,000 chunks, 15 MB with their vectors.
MAX_PART_BYTES = 4_000_000

_NAME_BYTES = 16


@dataclass(frozen=True, slots=True)
class BaseSource:
    """A repository to index; ``commit`` is None for a folder without git."""

    label: str
    root: Path
    commit: CommitPlace | None

    def make_key(self, profile: str) -> str:
        """Return a name of all that the repository's rows depend on; empty without git."""
        if self.commit is None:
            return ""
        return _hash(self.label, self.commit.name, profile)


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Some files of a repository, and the name that only they have."""

    name: str
    files: tuple[FoundFile, ...]


def find_sources(named: Sequence[tuple[str, Path]]) -> list[BaseSource]:
    """Return the repositories under these names, or that of their folder. Raises WrongParam."""
    sources: dict[str, BaseSource] = {}
    for name, root in named:
        label = make_label(name or root.name)
        if label in sources:
            raise WrongParam(f"{root} and {sources[label].root} are both called {label}: NAME=DIR")
        if not root.is_dir():
            raise WrongParam(f"there is no folder {root}")
        try:
            commit = find_commit(root, "HEAD")
        except HistoryUnavailable:
            commit = None
        sources[label] = BaseSource(label, root, commit)
    return list(sources.values())


@contextmanager
def export_source(source: BaseSource) -> Iterator[Path]:
    """Yield the files of a repository: those of its commit, or the folder itself.

    Raises HistoryUnavailable.
    """
    if source.commit is None:
        yield source.root
        return
    folder = Path(tempfile.mkdtemp(prefix="codekernel-base-"))
    try:
        yield export_commit(source.root, source.commit, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def split_source(source: BaseSource, top: Path, profile: str) -> list[SourcePart]:
    """Return the files that may be indexed, in parts, by path."""
    found = FileWalker(top).iterate_files(CancelToken())
    files = sorted((it for it in found if isinstance(it, FoundFile)), key=lambda it: it.path)
    parts: list[list[FoundFile]] = []
    size = MAX_PART_BYTES
    for file in files:
        if size + file.size > MAX_PART_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(file)
        size += file.size
    return [SourcePart(_name_part(source, part, profile), tuple(part)) for part in parts]


def _name_part(source: BaseSource, files: Sequence[FoundFile], profile: str) -> str:
    # An exported file has the date of the export.
    if source.commit:
        listed = [each.path for each in files]
        return _hash(source.label, source.commit.name, profile, *listed)
    listed = [f"{each.path} {each.size} {each.mtime_ns}" for each in files]
    return _hash(source.label, "", profile, *listed)


def _hash(*values: str) -> str:
    content = "\0".join(values).encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=_NAME_BYTES).hexdigest()
