"""Whether an index on the disk is as it was written: kinds, checksums, and that parts agree."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from kernel.storage.catalogue_batch import CatalogueWriter
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.index_repair import CATALOGUE_FILE, LEXICAL_FOLDER
from kernel.storage.index_shape import is_usable_file, is_usable_tree
from kernel.storage.lexical_checksums import read_stamp, verify_lexical
from kernel.storage.lexical_failures import unreadable

FileSignatures: TypeAlias = dict[str, tuple[int, int, int]]


def verify_index(
    folder: Path, writer: CatalogueWriter, between_steps: Callable[[], None] = lambda: None
) -> None:
    """Verify catalog and words, by the one who writes them.

    Raises CatalogueDamaged or IndexUnreadable.
    """
    path, words = folder / CATALOGUE_FILE, folder / LEXICAL_FOLDER
    if not is_usable_file(path):
        raise CatalogueDamaged(f"{path} is missing, or is not a file that can be read")
    writer.verify(between_steps)
    if not words.is_dir() or not is_usable_tree(words, flat=True):
        raise unreadable(words, "something in it is not a file")
    verify_lexical(words, between_steps)
    known = writer.lexical_stamp()
    if known is not None and known != read_stamp(words) and not writer.pending():
        raise unreadable(words, "it is not at the commit that the catalog knows")


def sign_files(folder: Path) -> FileSignatures:
    """Inode, size and date of each file that changes only when catalog or words are written."""
    found: FileSignatures = {}
    for place in (folder, folder / LEXICAL_FOLDER):
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if place == folder and not entry.name.startswith(CATALOGUE_FILE):
                        continue
                    if not entry.name.endswith(("-shm", "-wal", ".lock")):
                        seen = entry.stat(follow_symlinks=False)
                        found[entry.path] = seen.st_ino, seen.st_size, seen.st_mtime_ns
        except OSError:
            continue
    return found
