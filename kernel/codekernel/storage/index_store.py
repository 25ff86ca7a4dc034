"""The index of one repository on disk (catalog, lexical index, vectors in one folder).

Open, verify, quarantine what is damaged, close.
"""

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TypeAlias

from codekernel.errors import StorageError
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.tables import check_catalog_readable
from codekernel.storage.catalog.writer import CatalogWriter
from codekernel.storage.engines import (
    CatalogDamaged,
    LexicalIndexDamaged,
    build_lexical_damage,
    is_disk_full,
    is_opened_exclusively,
    is_unwritable,
)
from codekernel.storage.lexical_index import (
    LexicalIndex,
    open_readable_folder,
    read_opstamp,
    verify_lexical,
)
from codekernel.storage.page_checksums import find_page_damage
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.quarantine import (
    CHECKSUM_SUFFIX,
    DERIVED_DATABASE_SUFFIXES,
    QUARANTINE_MARK,
    is_quarantined,
    quarantine_derived_database,
    quarantine_derived_file,
    read_quarantined_inodes,
)
from codekernel.storage.safe_files import (
    add_suffix,
    is_misplaced,
    is_usable_file,
    is_usable_tree,
    make_private_folder,
    read_size,
    restrict_tree_to_owner,
    translate_os_errors,
)
from codekernel.storage.user_data import INDEXES_FOLDER, SHARED_VECTORS_FOLDER, WRITER_LOCK_FILE
from codekernel.storage.vectors import SEED_SUFFIX, SHARED_VECTORS_SUFFIX, SNAPSHOT_SUFFIX
from codekernel.storage.vectors.snapshot_files import are_quick_to_read, have_snapshots

logger = logging.getLogger(__name__)

CATALOG_FILE = "catalogue.db"

LEXICAL_FOLDER = "words"

VECTORS_FOLDER = "vectors"

# The second is CALLS_FILE of call_database.py, which a search does not import.
_DATABASES = (CATALOG_FILE, "calls.db")

_INDEX_FILES = (
    WRITER_LOCK_FILE,
    *(f"{name}{end}" for name in _DATABASES for end in DERIVED_DATABASE_SUFFIXES),
)


def find_misplaced_files(folder: Path) -> list[Path]:
    """Return what must be a file that can be read and written, and is not; companions first."""
    return [path for name in _INDEX_FILES if is_misplaced(path := folder / name)]


def quarantine_misplaced_files(folder: Path) -> None:
    """Quarantine what stands in the place of a file or folder of the index.

    Call it before opening anything: opening a pipe blocks.
    """
    for path in find_misplaced_files(folder):
        # A catalog without its log is not what it was.
        if path.name.startswith(CATALOG_FILE) and not path.name.endswith((CHECKSUM_SUFFIX, "-shm")):
            quarantine_index(folder)
        else:
            quarantine_derived_file(path)
    if not is_usable_tree(folder / LEXICAL_FOLDER, flat=True):
        quarantine_derived_file(folder / LEXICAL_FOLDER)
    if not (folder / VECTORS_FOLDER).is_dir():
        quarantine_derived_file(folder / VECTORS_FOLDER)


def open_catalog_writer(folder: Path) -> CatalogWriter:
    """Open the catalog to write; quarantine a damaged one and start an empty one."""
    path = folder / CATALOG_FILE
    if read_size(path) == 0 and add_suffix(path, CHECKSUM_SUFFIX).exists():
        logger.warning("%s is gone or empty; the index is rebuilt from the files", path)
        quarantine_index(folder)
    try:
        return CatalogWriter(path)
    except CatalogDamaged as damage:
        logger.warning("%s; the index is quarantined and rebuilt from the files", damage)
        quarantine_index(folder)
        return CatalogWriter(path)


def open_lexical_index(folder: Path, catalog: Catalog, writer: CatalogWriter) -> LexicalIndex:
    """Open the lexical index; rebuild it if it is damaged or does not match the catalog."""
    place = folder / LEXICAL_FOLDER
    try:
        lexical = LexicalIndex.open(place, writable=True)
    except LexicalIndexDamaged as damage:
        logger.warning("%s; the lexical index is rebuilt from the catalog", damage)
        quarantine_derived_file(place)
        lexical = LexicalIndex.open(place, writable=True)
    if not _is_lexical_in_sync(place, lexical, catalog, writer):
        logger.warning("the lexical index in %s does not match the catalog; it is rebuilt", place)
        lexical.clear()
    if lexical.document_count == 0 and not catalog.is_empty:
        with writer.begin_batch() as batch:
            batch.mark_all_pending()
    return lexical


def quarantine_index(folder: Path, *, include_catalog: bool = True) -> None:
    """Quarantine the lexical index, and the catalog whose ids it has."""
    if include_catalog:
        quarantine_derived_database(folder / CATALOG_FILE)
    quarantine_derived_file(folder / LEXICAL_FOLDER)


def _is_lexical_in_sync(
    place: Path, lexical: LexicalIndex, catalog: Catalog, writer: CatalogWriter
) -> bool:
    """Return whether the lexical index matches the catalog, except for pending files.

    A lost write-ahead log takes the newest rows with it, and the list of pending files.
    """
    known, found = writer.read_lexical_opstamp(), read_opstamp(place)
    if lexical.document_count == 0 or (known is not None and known != found):
        return lexical.document_count == 0
    return bool(writer.list_pending()) or lexical.document_count == catalog.count_contents()[1]


FileSignatures: TypeAlias = dict[str, tuple[int, int, int]]


def list_vectors_folders(folder: Path) -> list[Path]:
    """Return the folders of all vectors of an index that are not quarantined."""
    place = folder / VECTORS_FOLDER
    found = place.iterdir() if place.is_dir() else ()
    others = (SNAPSHOT_SUFFIX, SEED_SUFFIX)
    return sorted(each for each in found if not is_quarantined(each) and each.suffix not in others)


@dataclass(frozen=True, slots=True)
class IndexStore:
    """The open index; ``writer`` is None while another process keeps it up to date."""

    folder: Path
    catalog: Catalog
    lexical: LexicalIndex
    writer: CatalogWriter | None = None
    lock: ProcessLock | None = None
    # Where the parts lie that were damaged when it was opened.
    quarantined: tuple[Path, ...] = ()
    # Why this process cannot write an index that no other process writes.
    read_only_reason: str = ""
    on_close: Callable[[], None] = lambda: None

    @property
    def has_quick_vectors(self) -> bool:
        """Return whether all vectors can be read from snapshots, and at once."""
        return are_quick_to_read(list_vectors_folders(self.folder))

    @property
    def has_snapshots(self) -> bool:
        """Return whether all vectors can be read from snapshots, without LanceDB."""
        return have_snapshots(list_vectors_folders(self.folder))

    @property
    def active_writer(self) -> CatalogWriter:
        """Return the writer of the catalog; raises StorageError if another process has it."""
        if self.writer is None:
            raise StorageError(f"another codekernel keeps the index in {self.folder}")
        return self.writer

    @property
    def needs_reopen(self) -> bool:
        """Return whether it was opened exclusively on a full disk that has space again."""
        return is_opened_exclusively(self.folder / CATALOG_FILE) and not is_disk_full(self.folder)

    def vectors_folder(self, name: str) -> Path:
        """Return the folder of the vectors of one embedding config."""
        return self.folder / VECTORS_FOLDER / name

    def shared_vectors_file(self, model: str) -> Path | None:
        """Return the file of the vectors that all indexes of a userData folder share.

        None for an index that lies elsewhere, as in a benchmark.
        """
        if self.folder.parent.name != INDEXES_FOLDER:
            return None
        return self.folder.parents[1] / SHARED_VECTORS_FOLDER / f"{model}{SHARED_VECTORS_SUFFIX}"

    def delete_vectors(self, folder: Path) -> None:
        """Delete the vectors in a folder, their snapshot, and what was quarantined of them."""
        for suffix in (SNAPSHOT_SUFFIX, SEED_SUFFIX):
            folder.with_name(folder.name + suffix).unlink(missing_ok=True)
        for each in (folder, *folder.parent.glob(f"{folder.name}{QUARANTINE_MARK}*")):
            shutil.rmtree(each, ignore_errors=True)

    def verify(self, between_steps: Callable[[], None] = lambda: None) -> None:
        """Verify catalog and lexical index by their checksums, on the thread that writes them.

        Raises CatalogDamaged or LexicalIndexDamaged.
        """
        writer = self.active_writer
        path, words = self.folder / CATALOG_FILE, self.folder / LEXICAL_FOLDER
        if not is_usable_file(path):
            raise CatalogDamaged(f"{path} is missing, or is not a file that can be read")
        writer.verify(between_steps)
        if not words.is_dir() or not is_usable_tree(words, flat=True):
            raise build_lexical_damage(words, "something in it is not a file")
        verify_lexical(words, between_steps)
        known = writer.read_lexical_opstamp()
        if known is not None and known != read_opstamp(words) and not writer.list_pending():
            raise build_lexical_damage(words, "it is not at the commit that the catalog knows")

    def read_file_signatures(self) -> FileSignatures:
        """Return inode, size and time of each file that only a write to the index changes."""
        found: FileSignatures = {}
        for place in (self.folder, self.folder / LEXICAL_FOLDER):
            with suppress(OSError), os.scandir(place) as entries:
                for entry in entries:
                    if place == self.folder and not entry.name.startswith(CATALOG_FILE):
                        continue
                    if not entry.name.endswith(("-shm", "-wal", ".lock")):
                        seen = entry.stat(follow_symlinks=False)
                        found[entry.path] = seen.st_ino, seen.st_size, seen.st_mtime_ns
        return found

    @property
    def is_current(self) -> bool:
        """Return whether the open catalog is still the file at its path."""
        return self.catalog.is_in_place

    def restrict_to_owner(self) -> None:
        """Remove other accounts' access to the files that the engines have made."""
        restrict_tree_to_owner(self.folder)

    def close(self, *, keeps_lock: bool = False) -> None:
        """Close everything and release the writer lock, unless it is opened again with that."""
        self.lexical.close()
        self.catalog.close()
        if self.writer:
            self.writer.close()
            self.restrict_to_owner()
        if self.lock and not keeps_lock:
            self.lock.release()
        self.on_close()


class IndexNeedsReopen(StorageError):
    """The index was opened on a full disk, and can be opened normally now."""


class IndexNotReady(StorageError):
    """Another process writes this index, and it cannot be read yet."""


def open_index(
    folder: Path, *, damage: BaseException | None = None, lock: ProcessLock | None = None
) -> IndexStore:
    """Open the index in ``folder``, or make it; read-only if another process writes it.

    ``damage`` was found before; that part is quarantined first. ``lock`` is that of the store that
    was closed for it: no other process becomes the writer meanwhile. Where the disk is full or
    read-only, an existing index is opened read-only, and ``read_only_reason`` says why.
    """
    try:
        return open_index_to_write(folder, damage=damage, lock=lock) or open_index_to_read(folder)
    except (CatalogDamaged, LexicalIndexDamaged, IndexNotReady):
        raise
    except StorageError as error:
        if damage or not is_unwritable(folder):
            raise
        return _open_unwritable_index(folder, error)


def open_index_to_write(
    folder: Path, *, damage: BaseException | None = None, lock: ProcessLock | None = None
) -> IndexStore | None:
    """Open or make the index; None if another process writes it."""
    try:
        return _try_open_to_write(folder, damage, lock)
    except StorageError as error:
        is_damage = isinstance(error, CatalogDamaged)  # a changed byte has other consequences too
        found = error if is_damage else find_page_damage(folder / CATALOG_FILE)
        if found is None or isinstance(damage, CatalogDamaged):
            raise
        return _try_open_to_write(folder, found)


def _try_open_to_write(
    folder: Path, damage: BaseException | None, held: ProcessLock | None = None
) -> IndexStore | None:
    before = read_quarantined_inodes(folder)
    _make_index_folder(folder)
    lock = held if held and held.is_in_place else ProcessLock(folder / WRITER_LOCK_FILE)
    if not lock.try_acquire():
        return None
    with ExitStack() as opening:
        opening.callback(lock.release)  # or the next attempt would find it locked
        quarantine_misplaced_files(folder)
        if isinstance(damage, CatalogDamaged | LexicalIndexDamaged):
            # The lexical index has the ids of the catalog's rows: it goes with the catalog.
            quarantine_index(folder, include_catalog=isinstance(damage, CatalogDamaged))
        writer = open_catalog_writer(folder)
        opening.callback(writer.close)
        catalog = Catalog(folder / CATALOG_FILE)
        opening.callback(catalog.close)
        lexical = open_lexical_index(folder, catalog, writer)
        opening.pop_all()
    moved = read_quarantined_inodes(folder).items() - before.items()
    quarantined = tuple(path for path, _ in sorted(moved))
    return IndexStore(folder, catalog, lexical, writer, lock, quarantined)


def open_index_to_read(folder: Path) -> IndexStore:
    """Open what another process writes; raises IndexNotReady."""
    path = folder / CATALOG_FILE
    try:
        check_catalog_readable(path)
        lexical = LexicalIndex.open(folder / LEXICAL_FOLDER, writable=False)
    except (CatalogDamaged, LexicalIndexDamaged) as reason:
        raise IndexNotReady(
            f"another codekernel keeps the index in {folder} and has made nothing yet that can be"
            f" read here: {reason}"
        ) from reason
    return IndexStore(folder, Catalog(path), lexical)


def _make_index_folder(folder: Path) -> None:
    """Make the folder; quarantine a file in its place or in that of its parent."""
    for place in (folder.parent, folder):
        if os.path.lexists(place) and not place.is_dir():
            quarantine_derived_file(place)
    make_private_folder(folder)
    lock = folder / WRITER_LOCK_FILE
    if is_misplaced(lock):
        quarantine_derived_file(lock)


def _open_unwritable_index(folder: Path, error: StorageError) -> IndexStore:
    """Open an index without writing anything; raises ``error`` if that fails."""
    with ExitStack() as opening:
        try:
            check_catalog_readable(folder / CATALOG_FILE)
            words = opening.enter_context(open_readable_folder(folder / LEXICAL_FOLDER))
            lexical = LexicalIndex.open(words, writable=False)
            # Reading from both is the only proof that they can be read.
            lexical.search_all(["a"], 1)
            catalog = Catalog(folder / CATALOG_FILE)
            opening.callback(catalog.close)
            catalog.count_contents()
        except (StorageError, OSError):
            raise error from None
        release = opening.pop_all().close
    return IndexStore(folder, catalog, lexical, read_only_reason=str(error), on_close=release)


@contextmanager
def open_empty_index() -> Iterator[IndexStore]:
    """Yield an empty index, to search until there is a real one."""
    with ExitStack() as opening:
        with translate_os_errors(Path(gettempdir())):
            place = opening.enter_context(
                TemporaryDirectory(prefix="codekernel-", ignore_cleanup_errors=True)
            )
        store = open_index(Path(place))
        opening.callback(store.close)
        yield replace(store, writer=None)
