"""The index of one repository on disk (catalog, lexical index, vectors in one folder).

Open, verify, quarantine what is damaged, close.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TypeAlias

from codekernel.errors import StorageError
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.schema import CATALOG_FORMAT, connect_catalog
from codekernel.storage.catalog.writer import CatalogWriter
from codekernel.storage.engine_errors import (
    CatalogDamaged,
    LexicalIndexDamaged,
    build_lexical_damage,
    translate_sqlite_errors,
)
from codekernel.storage.file_locks import ProcessLock
from codekernel.storage.lexical.lexical_index import LexicalIndex, read_opstamp, verify_lexical
from codekernel.storage.os_errors import explain_os_error, is_disk_full, is_unwritable
from codekernel.storage.quarantine import is_quarantined, list_quarantined, quarantine_derived_file
from codekernel.storage.safe_files import (
    VECTORS_FOLDER,
    WRITER_LOCK_FILE,
    find_misplaced_files,
    is_usable_file,
    is_usable_tree,
)
from codekernel.storage.sqlite_files import is_opened_exclusively
from codekernel.storage.user_data import make_private_folder, restrict_tree_to_owner

logger = logging.getLogger(__name__)

CATALOG_FILE = "catalogue.db"

LEXICAL_FOLDER = "words"

# The database goes last: without it SQLite would take a lone log for rubbish.
_CATALOG_FILES = tuple(f"{CATALOG_FILE}{end}" for end in (".sums", "-wal", "-shm", "-journal", ""))


def check_catalog_readable(path: Path) -> None:
    """Look at what another process writes; raises CatalogueDamaged if it cannot be read here."""
    if not is_usable_file(path):
        raise CatalogDamaged(f"{path} is not there, or not a file that can be read")
    with translate_sqlite_errors(path), closing(connect_catalog(path, read_only=True)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != CATALOG_FORMAT:
        raise CatalogDamaged(f"{path} has format {version}, this codekernel reads {CATALOG_FORMAT}")


def quarantine_misplaced_files(folder: Path) -> list[Path]:
    """Quarantine what stands in the place of a file or folder of the index; returns what.

    It is done before anything is opened, because opening a pipe waits for ever.
    """
    moved: list[Path] = []
    for path in list(find_misplaced_files(folder)):
        # A catalog without its log, or without its sums, is not what it was.
        if path.name.startswith(CATALOG_FILE) and not path.name.endswith((".sums", "-shm")):
            moved += quarantine_index(folder)
        elif found := quarantine_derived_file(path):
            moved.append(found)
    for name in (LEXICAL_FOLDER, "vectors"):
        path = folder / name
        top_is_wrong = os.path.lexists(path) and not path.is_dir()
        damaged = not is_usable_tree(path, flat=True) if name == LEXICAL_FOLDER else top_is_wrong
        if damaged and (found := quarantine_derived_file(path)):
            moved.append(found)
    return moved


def open_catalog_writer(folder: Path) -> CatalogWriter:
    """Open the catalogue to write; one that is damaged is set aside, and an empty one begun."""
    path = folder / CATALOG_FILE
    if _is_catalog_lost(path):
        logger.warning("%s is gone or empty; the index is rebuilt from the files", path)
        quarantine_index(folder)
    try:
        writer = CatalogWriter(path)
        try:
            writer.list_pending()  # a first look at the file's content
        except CatalogDamaged:
            writer.close()
            raise
    except CatalogDamaged as damage:
        logger.warning("%s; the index is set aside and rebuilt from the files", damage)
        quarantine_index(folder)
        return CatalogWriter(path)
    return writer


def open_lexical_index(folder: Path, catalog: Catalog, writer: CatalogWriter) -> LexicalIndex:
    """Open the words; if they are damaged or not those of the catalogue, all are written again."""
    place = folder / LEXICAL_FOLDER
    try:
        lexical = LexicalIndex.open(place, writable=True)
    except LexicalIndexDamaged as damage:
        logger.warning("%s; the words are indexed again from the catalogue", damage)
        quarantine_derived_file(place)
        lexical = LexicalIndex.open(place, writable=True)
    if not _is_lexical_in_sync(place, lexical, catalog, writer):
        logger.warning("the words in %s are not those of the catalogue; indexed again", place)
        lexical.clear()
    if lexical.document_count == 0:
        with writer.begin_batch() as batch:
            batch.mark_all_pending()
    return lexical


def quarantine_index(folder: Path, *, include_catalog: bool = True) -> list[Path]:
    """Quarantine the words, and the catalog that their numbers are from; returns what was moved."""
    names = (*(_CATALOG_FILES if include_catalog else ()), LEXICAL_FOLDER)
    moved = [quarantine_derived_file(folder / name) for name in names]
    return [path for path in moved if path is not None]


def _is_catalog_lost(path: Path) -> bool:
    """Whether there was a catalog here once."""
    size = path.stat().st_size if path.exists() else 0
    return size == 0 and path.with_name(f"{path.name}.sums").exists()


def _is_lexical_in_sync(
    place: Path, lexical: LexicalIndex, catalog: Catalog, writer: CatalogWriter
) -> bool:
    """Whether the words are those of the catalogue's rows, but for files noted as pending.

    A log that was lost takes the newest rows with it, and the notes on what was pending.
    """
    known, found = writer.read_lexical_opstamp(), read_opstamp(place)
    if lexical.document_count == 0 or (known is not None and known != found):
        return lexical.document_count == 0
    return bool(writer.list_pending()) or lexical.document_count == catalog.count_contents()[1]


FileSignatures: TypeAlias = dict[str, tuple[int, int, int]]


def verify_index(
    folder: Path, writer: CatalogWriter, between_steps: Callable[[], None] = lambda: None
) -> None:
    """Verify catalog and words, by the one who writes them.

    Raises CatalogueDamaged or IndexUnreadable.
    """
    path, words = folder / CATALOG_FILE, folder / LEXICAL_FOLDER
    if not is_usable_file(path):
        raise CatalogDamaged(f"{path} is missing, or is not a file that can be read")
    writer.verify(between_steps)
    if not words.is_dir() or not is_usable_tree(words, flat=True):
        raise build_lexical_damage(words, "something in it is not a file")
    verify_lexical(words, between_steps)
    known = writer.read_lexical_opstamp()
    if known is not None and known != read_opstamp(words) and not writer.list_pending():
        raise build_lexical_damage(words, "it is not at the commit that the catalog knows")


def read_file_signatures(folder: Path) -> FileSignatures:
    """Inode, size and date of each file that changes only when catalog or words are written."""
    found: FileSignatures = {}
    for place in (folder, folder / LEXICAL_FOLDER):
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if place == folder and not entry.name.startswith(CATALOG_FILE):
                        continue
                    if not entry.name.endswith(("-shm", "-wal", ".lock")):
                        seen = entry.stat(follow_symlinks=False)
                        found[entry.path] = seen.st_ino, seen.st_size, seen.st_mtime_ns
        except OSError:
            continue
    return found


@dataclass(frozen=True, slots=True)
class IndexStore:
    """The open index; ``writer`` is None while another process keeps it up to date."""

    folder: Path
    catalog: Catalog
    lexical: LexicalIndex
    writer: CatalogWriter | None
    lock: ProcessLock
    # What was found to be damaged while it was opened, where it lies now.
    quarantined: tuple[Path, ...] = ()
    # Why an index that no other process writes is not written here either: the disk refuses.
    read_only_reason: str = ""
    on_close: Callable[[], None] = lambda: None

    @property
    def active_writer(self) -> CatalogWriter:
        """The catalogue's writer, where this process has it."""
        if self.writer is None:
            raise StorageError(f"another codekernel keeps the index in {self.folder}")
        return self.writer

    @property
    def needs_reopen(self) -> bool:
        """Whether it was opened on a full disk, keeps others out since, and need not any more."""
        return is_opened_exclusively(self.folder / CATALOG_FILE) and not is_disk_full(self.folder)

    def vectors_folder(self, name: str) -> Path:
        """Where the vectors of one embedding config lie."""
        return self.folder / VECTORS_FOLDER / name

    def list_vectors_folders(self) -> list[Path]:
        """The folders of all vectors there are, wanted or not, without what is quarantined."""
        folder = self.folder / VECTORS_FOLDER
        found = folder.iterdir() if folder.is_dir() else ()
        return sorted(each for each in found if not is_quarantined(each))

    def verify(self, between_steps: Callable[[], None] = lambda: None) -> None:
        """Compare catalog and words with their checksums; only by the thread that writes them.

        Raises CatalogueDamaged or IndexUnreadable.
        """
        verify_index(self.folder, self.active_writer, between_steps)

    def read_file_signatures(self) -> dict[str, tuple[int, int, int]]:
        """What the system says of the files of catalog and words; others change with each write."""
        return read_file_signatures(self.folder)

    @property
    def is_current(self) -> bool:
        """Whether this is still the catalog at its place, and not one that was quarantined."""
        return self.catalog.is_in_place

    def measure_disk_bytes(self) -> int:
        """What the whole index takes on disk."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    def restrict_to_owner(self) -> None:
        """Take other people's access to the files that the engines have made away."""
        restrict_tree_to_owner(self.folder)

    def close(self) -> None:
        """Close what was opened and let another process have it."""
        self.lexical.close()
        self.catalog.close()
        if self.writer:
            self.writer.close()
            self.restrict_to_owner()
        self.lock.release()
        self.on_close()


class IndexNeedsReopen(StorageError):
    """The index was opened on a full disk, and can be opened as usual by now."""


class IndexNotReady(StorageError):
    """Another process keeps this index, and what it has so far cannot be read here."""


def open_index(folder: Path, *, damage: BaseException | None = None) -> IndexStore:
    """Open the index in ``folder``, or make it; to read only if another process writes it.

    ``damage``: what was found to be damaged there; it is quarantined and not even tried. Where the
    disk is full or may not be written, what is there is opened as it is, and ``refusal`` says why.
    """
    try:
        return open_index_to_write(folder, damage=damage) or open_index_to_read(folder)
    except (CatalogDamaged, LexicalIndexDamaged, IndexNotReady):
        raise
    except StorageError as error:
        if damage or not is_unwritable(folder):
            raise
        return _open_unwritable_index(folder, error)


def open_index_to_write(folder: Path, *, damage: BaseException | None = None) -> IndexStore | None:
    """Open or make the index; None if another process writes it.

    Damage that shows only when the parts are compared is quarantined as any other.
    """
    try:
        return _try_open_to_write(folder, damage)
    except CatalogDamaged as found:
        if isinstance(damage, CatalogDamaged):
            raise
        return _try_open_to_write(folder, found)


def _try_open_to_write(folder: Path, damage: BaseException | None) -> IndexStore | None:
    before = _list_inodes(list_quarantined(folder))
    _make_index_folder(folder)
    lock = ProcessLock(folder / WRITER_LOCK_FILE)
    if not lock.try_acquire():
        return None
    with ExitStack() as opening:
        opening.callback(lock.release)  # or the next attempt would take us for another process
        quarantine_misplaced_files(folder)
        if isinstance(damage, CatalogDamaged | LexicalIndexDamaged):
            # Words have the numbers of the catalog's rows, so they go with it; it stays without.
            quarantine_index(folder, include_catalog=isinstance(damage, CatalogDamaged))
        writer = open_catalog_writer(folder)
        opening.callback(writer.close)
        catalogue = Catalog(folder / CATALOG_FILE)
        opening.callback(catalogue.close)
        lexical = open_lexical_index(folder, catalogue, writer)
        opening.pop_all()
    moved = tuple(path for path in list_quarantined(folder) if not _list_inodes([path]) <= before)
    return IndexStore(folder, catalogue, lexical, writer, lock, moved)


def open_index_to_read(folder: Path) -> IndexStore:
    """Open what another process writes; raises IndexNotThere if it is not ready to be read."""
    path = folder / CATALOG_FILE
    try:
        check_catalog_readable(path)
        lexical = LexicalIndex.open(folder / LEXICAL_FOLDER, writable=False)
    except (CatalogDamaged, LexicalIndexDamaged) as reason:
        raise IndexNotReady(
            f"another codekernel keeps the index in {folder} and has made nothing yet that can be"
            f" read here: {reason}"
        ) from reason
    return IndexStore(folder, Catalog(path), lexical, None, ProcessLock(folder / WRITER_LOCK_FILE))


def _list_inodes(paths: Iterable[Path]) -> set[int]:
    found = set()
    for path in paths:
        with suppress(OSError):
            found.add(path.lstat().st_ino)
    return found


def _make_index_folder(folder: Path) -> None:
    """Make the folder; a file in its place, or in that of all indexes, is quarantined."""
    for place in (folder.parent, folder):
        if os.path.lexists(place) and not place.is_dir():
            quarantine_derived_file(place)
    make_private_folder(folder)
    lock = folder / WRITER_LOCK_FILE
    if os.path.lexists(lock) and not is_usable_file(lock):
        quarantine_derived_file(lock)


def _open_unwritable_index(folder: Path, error: StorageError) -> IndexStore:
    """Open an index without writing anything beside it; raises ``error`` if that cannot be."""
    from codekernel.storage.lexical.lexical_index import open_readable_folder  # noqa: PLC0415 - seldom

    with ExitStack() as opening:
        try:
            check_catalog_readable(folder / CATALOG_FILE)
            words = opening.enter_context(open_readable_folder(folder / LEXICAL_FOLDER))
            lexical = LexicalIndex.open(words, writable=False)
            # Without a look at both nobody knows whether they can be read.
            lexical.search_all(["a"], 1)
            catalogue = Catalog(folder / CATALOG_FILE)
            opening.callback(catalogue.close)
            catalogue.count_contents()
        except (StorageError, OSError):
            raise error from None
        release = opening.pop_all().close
    lock = ProcessLock(folder / WRITER_LOCK_FILE)
    return IndexStore(
        folder, catalogue, lexical, None, lock, read_only_reason=str(error), on_close=release
    )


@contextmanager
def open_empty_index() -> Iterator[IndexStore]:
    """An index of nothing, to be asked until there is one."""
    with ExitStack() as opening:
        try:
            place = opening.enter_context(
                TemporaryDirectory(prefix="codekernel-", ignore_cleanup_errors=True)
            )
        except OSError as error:
            raise explain_os_error(error, Path(gettempdir())) from error
        store = open_index(Path(place))
        opening.callback(store.close)
        yield replace(store, writer=None)
