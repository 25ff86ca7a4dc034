"""The indexes of a userData folder: what each takes and when it was used; deleting unused ones."""

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import starmap
from pathlib import Path

from codekernel.domain.index import Repo
from codekernel.errors import StorageError
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.safe_files import (
    create_private_file,
    make_private_parents,
    measure_folder,
    read_size,
    write_bytes_atomically,
)
from codekernel.storage.user_data import WRITER_LOCK_FILE, UserData

# Touched when a repository is opened; has its path.
USED_FILE = "used"

# In the index of a folder that was searched in a terminal and never opened otherwise.
SEARCH_ONLY_FILE = "search-only"

_DAY_SECONDS = 24 * 60 * 60


# The files, chunks and skipped files of an index; raises StorageError.
CountContents = Callable[[Path], tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """An index on disk; ``repo`` is None if no repository is registered for it.

    ``root`` is what it is about, None if that is unknown; ``is_gone`` if that folder is.
    ``used_at`` in seconds since the epoch. ``is_busy`` if a process without the shared kernel
    writes it.
    """

    folder: Path
    repo: Repo | None
    root: Path | None
    files: int
    chunks: int
    size_bytes: int
    used_at: float
    is_gone: bool
    is_search_only: bool
    is_busy: bool


def find_unregistered_index(user_data: UserData, root: Path) -> Path:
    """Return the folder of the index of a folder that was not a registered repository."""
    name = blake2b(str(root).encode(errors="surrogatepass"), digest_size=8).hexdigest()
    return user_data.indexes_folder / f"folder-{name}"


def mark_used(folder: Path, root: Path) -> None:
    """Record that an index is in use now, and for which folder; errors of the disk are ignored."""
    used, content = folder / USED_FILE, os.fsencode(root)
    with suppress(OSError, StorageError):
        make_private_parents(folder)
        if read_size(used) and used.read_bytes() == content:
            os.utime(used)
        else:
            write_bytes_atomically(used, content)


def mark_search_only(folder: Path) -> None:
    """Record that a repository is only known from a search in a terminal."""
    with suppress(OSError):
        make_private_parents(folder)
        create_private_file(folder / SEARCH_ONLY_FILE)


def mark_kept(folder: Path) -> None:
    """Record that a repository is one of the user's list, however long it is unused."""
    with suppress(OSError):
        (folder / SEARCH_ONLY_FILE).unlink(missing_ok=True)


def list_index_folders(
    user_data: UserData,
    repos: Sequence[Repo],
    own_repo_ids: Collection[int],
    count_contents: CountContents,
) -> list[IndexFolder]:
    """Return the index of each repository, also of those that have none yet, then the others.

    ``own_repo_ids`` are those that this process has open.
    """

    def describe(folder: Path, repo: Repo | None) -> IndexFolder:
        try:
            files, chunks, _ = count_contents(folder)
        except StorageError:
            files = chunks = 0
        root = repo.path if repo else _read_root(folder)
        is_own = repo is not None and repo.id in own_repo_ids
        return IndexFolder(
            folder=folder,
            repo=repo,
            root=root,
            files=files,
            chunks=chunks,
            size_bytes=measure_folder(folder),
            used_at=_read_used_at(folder),
            is_gone=root is not None and not root.is_dir(),
            is_search_only=(folder / SEARCH_ONLY_FILE).exists(),
            is_busy=not is_own and _is_locked(folder),
        )

    by_folder = {user_data.repo_index_folder(repo.id): repo for repo in repos}
    there = user_data.indexes_folder
    others = sorted(
        each
        for each in (there.iterdir() if there.is_dir() else ())
        if each.is_dir() and each not in by_folder
    )
    return [*starmap(describe, by_folder.items()), *(describe(folder, None) for folder in others)]


def select_unused(
    indexes: Sequence[IndexFolder], open_repo_ids: Collection[int], max_days: float
) -> Iterator[tuple[IndexFolder, str]]:
    """Yield each index that may go, and why; never one that is open."""
    for index in indexes:
        if index.is_busy or (index.repo is not None and index.repo.id in open_repo_ids):
            continue
        days = (time.time() - index.used_at) / _DAY_SECONDS
        if index.is_gone:
            yield index, "its folder is gone"
        elif index.root is None:
            yield index, "no repository is registered for it"
        elif days > max_days and (index.size_bytes or index.is_search_only):
            yield index, f"not used for {days:.0f} days"


def _read_root(folder: Path) -> Path | None:
    """Return the path that ``mark_used`` has written; an index of an earlier version has none."""
    try:
        root = Path(os.fsdecode((folder / USED_FILE).read_bytes()))
    except OSError:
        return None
    return root if root.is_absolute() else None


def _is_locked(folder: Path) -> bool:
    """Return whether another process writes an index."""
    path = folder / WRITER_LOCK_FILE
    if not path.exists():
        return False
    lock = ProcessLock(path)
    try:
        return not lock.try_acquire()
    except StorageError:
        return False
    finally:
        lock.release()


def _read_used_at(folder: Path) -> float:
    for path in (folder / USED_FILE, folder):
        try:
            return path.stat().st_mtime
        except OSError:
            continue
    return 0.0
