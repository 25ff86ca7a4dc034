"""Looking at an index from outside, as ``doctor`` does: what is damaged, and moving that aside."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.call_schema import CALLS_FILE
from kernel.storage.call_verification import find_damage, quarantine_calls
from kernel.storage.catalogue import Catalogue
from kernel.storage.catalogue_batch import check_integrity
from kernel.storage.catalogue_failures import CatalogueDamaged, sqlite_errors
from kernel.storage.catalogue_schema import connect
from kernel.storage.index_repair import (
    CATALOGUE_FILE,
    LEXICAL_FOLDER,
    clear_the_way,
    put_aside,
    see_catalogue,
)
from kernel.storage.index_shape import LOCK_FILE, VECTORS_FOLDER, is_usable_tree, misplaced_files
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.lexical_checksums import verify_lexical
from kernel.storage.page_checksums import PageChecksums
from kernel.storage.quarantine import MARK, is_quarantined, quarantine_derived, quarantined

# What a running kernel is just replacing is right a moment later.
MAX_LOOKS = 3
LOOK_AGAIN_SECONDS = 0.2
CATALOG, WORDS, VECTORS, CALLS, PLACE = "catalog", "words", "vectors", "calls", "place"


@dataclass(frozen=True, slots=True)
class IndexDamage:
    """What is damaged, where, and why one thinks so."""

    part: str
    path: Path
    reason: str


def has_index(folder: Path) -> bool:
    """Whether an index, or what was one, lies in ``folder``."""
    return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))


def count_contents(folder: Path) -> tuple[int, int, int]:
    """How many files, chunks and files left out an index has; raises StorageError."""
    with closing(Catalogue(folder / CATALOGUE_FILE)) as catalogue:
        return catalogue.counts()


def find_damages(folder: Path) -> list[IndexDamage]:
    """Compare everything in an index with its checksums; changes nothing."""
    if not folder.is_dir():
        return [IndexDamage(PLACE, folder, f"{folder} is not a folder")]
    in_the_way = [
        IndexDamage(PLACE, path, f"{path} is not a file that can be read")
        for path in misplaced_files(folder)
    ]
    if in_the_way:
        return in_the_way  # opening what is beside them could wait for ever
    for _ in range(MAX_LOOKS):
        found = [*_in_catalog_and_words(folder), *_in_vectors(folder), *_in_calls(folder)]
        if not found:
            break
        time.sleep(LOOK_AGAIN_SECONDS)
    return found


def quarantine_damages(folder: Path, damages: list[IndexDamage]) -> list[Path] | None:
    """Move aside what is damaged, so that it is rebuilt when the index is next opened.

    Returns where it is now; none if another process keeps the index, which heals it itself.
    """
    if not folder.is_dir():
        moved = quarantine_derived(folder)
        return [moved] if moved else []
    before = {path: path.lstat().st_ino for path in quarantined(folder)}
    lock_path = folder / LOCK_FILE
    if any(damage.path == lock_path for damage in damages):
        quarantine_derived(lock_path)
    lock = InstanceLock(lock_path)
    if not lock.take():
        return None
    try:
        clear_the_way(folder)
        parts = {damage.part for damage in damages}
        if parts & {CATALOG, WORDS}:
            put_aside(folder, catalog=CATALOG in parts)
        if CALLS in parts:
            quarantine_calls(folder / CALLS_FILE)
        for damage in damages:
            if damage.part == VECTORS:
                _repair_vectors(damage)
    finally:
        lock.release()
    return [path for path in quarantined(folder) if before.get(path) != path.lstat().st_ino]


def _in_catalog_and_words(folder: Path) -> Iterator[IndexDamage]:
    path, words = folder / CATALOGUE_FILE, folder / LEXICAL_FOLDER
    has_words = words.is_dir() and any(words.iterdir())
    sums = PageChecksums(path)
    if not path.exists() and not sums.path.exists() and not has_words:
        return  # not made yet
    try:
        see_catalogue(path)
        if not sums.verify():
            with sqlite_errors(path), closing(connect(path, read_only=True)) as database:
                check_integrity(database, path)
    except CatalogueDamaged as damage:
        yield IndexDamage(CATALOG, path, str(damage))
        return
    if not words.exists() and words.with_name(f"{words.name}{MARK}").exists():
        return  # moved aside; written again from the catalog when the index is next opened
    if not is_usable_tree(words, flat=True):
        yield IndexDamage(WORDS, words, f"Something in {words} is not a file that can be read.")
        return
    try:
        verify_lexical(words)
    except StorageError as damage:
        yield IndexDamage(WORDS, words, str(damage))


def _in_vectors(folder: Path) -> Iterator[IndexDamage]:
    place = folder / VECTORS_FOLDER
    if not place.is_dir():
        return
    for table in sorted(place.iterdir()):
        if not is_quarantined(table):
            from kernel.storage.vector_examination import examine_vectors  # noqa: PLC0415 - heavy

            if reason := examine_vectors(table):
                yield IndexDamage(VECTORS, table, reason)


def _repair_vectors(damage: IndexDamage) -> None:
    """Keep the rows that are whole; if nothing can be read, the table is moved aside."""
    from kernel.storage.lance_failures import VectorsDamaged  # noqa: PLC0415 - heavy
    from kernel.storage.lance_rows import set_aside  # noqa: PLC0415 - heavy
    from kernel.storage.vector_examination import read_dimensions  # noqa: PLC0415 - heavy
    from kernel.storage.vector_table import VectorTable  # noqa: PLC0415 - heavy

    try:
        VectorTable.open(damage.path, read_dimensions(damage.path)).close()
    except VectorsDamaged as reason:
        set_aside(damage.path, reason, datetime.now(UTC))


def _in_calls(folder: Path) -> Iterator[IndexDamage]:
    if reason := find_damage(folder / CALLS_FILE):
        yield IndexDamage(CALLS, folder / CALLS_FILE, reason)
