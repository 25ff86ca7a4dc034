"""The indexes of a userData folder: what each takes and when it was used; deleting unused ones."""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.index import Repo
from codekernel.errors import StorageError
from codekernel.storage.safe_files import create_private_file, make_private_parents
from codekernel.storage.user_data import UserData

# Touched when a repository is opened.
USED_FILE = "used"

_DAY_SECONDS = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """An index on disk; ``repo`` is None if no repository is registered for it.

    ``used_at`` in seconds since the epoch; ``is_gone`` if the folder that it is about is.
    """

    folder: Path
    repo: Repo | None
    files: int
    chunks: int
    size_bytes: int
    used_at: float
    is_gone: bool


def mark_used(folder: Path) -> None:
    """Record that an index is in use now; a disk that cannot be written is no reason to fail."""
    with suppress(OSError):
        make_private_parents(folder)
        create_private_file(folder / USED_FILE)
        os.utime(folder / USED_FILE)


def list_index_folders(user_data: UserData, repos: Sequence[Repo]) -> list[IndexFolder]:
    """Return the index of each repository, also of those that have none yet, then the others."""
    by_folder = {user_data.repo_index_folder(repo.id): repo for repo in repos}
    there = user_data.indexes_folder
    others = sorted(
        each
        for each in (there.iterdir() if there.is_dir() else ())
        if each.is_dir() and each not in by_folder
    )
    described = [_describe(folder, repo) for folder, repo in by_folder.items()]
    return described + [_describe(folder, None) for folder in others]


def select_unused(
    indexes: Sequence[IndexFolder], open_repo_ids: Collection[int], max_days: float
) -> Iterator[tuple[IndexFolder, str]]:
    """Yield each index that may go, and why; never one that is open."""
    for index in indexes:
        if index.repo is not None and index.repo.id in open_repo_ids:
            continue
        days = (time.time() - index.used_at) / _DAY_SECONDS
        if index.repo is None:
            yield index, "no repository is registered for it"
        elif index.is_gone:
            yield index, "its folder is gone"
        elif days > max_days and index.size_bytes:
            yield index, f"not used for {days:.0f} days"


def _describe(folder: Path, repo: Repo | None) -> IndexFolder:
    from codekernel.storage.index_examination import count_index_contents  # noqa: PLC0415 - heavy

    try:
        files, chunks, _ = count_index_contents(folder)
    except StorageError:
        files = chunks = 0
    return IndexFolder(
        folder=folder,
        repo=repo,
        files=files,
        chunks=chunks,
        size_bytes=_measure(folder),
        used_at=_read_used_at(folder),
        is_gone=repo is not None and not repo.path.is_dir(),
    )


def _measure(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_size  # noqa: PTH118 - twice as fast
            except OSError:  # it is gone meanwhile
                continue
    return total


def _read_used_at(folder: Path) -> float:
    for path in (folder / USED_FILE, folder):
        try:
            return path.stat().st_mtime
        except OSError:
            continue
    return 0.0
