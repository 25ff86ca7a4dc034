"""The index of one repository on disk: catalogue, words and vectors in one folder."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from kernel.errors import StorageError
from kernel.storage.catalogue import Catalogue
from kernel.storage.catalogue_batch import CatalogueWriter
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.failures import explain, is_full, takes_nothing
from kernel.storage.full_disk_sqlite import keeps_others_out
from kernel.storage.index_repair import (
    CATALOGUE_FILE,
    LEXICAL_FOLDER,
    catalogue_writer,
    clear_the_way,
    put_aside,
    see_catalogue,
    words_of_catalogue,
)
from kernel.storage.index_shape import LOCK_FILE, VECTORS_FOLDER, is_usable_file
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.storage.lexical_index import LexicalIndex
from kernel.storage.private_folder import close_files_to_others, make_private_folder
from kernel.storage.quarantine import is_quarantined, quarantine_derived, quarantined

__all__ = [
    "CATALOGUE_FILE",
    "IndexNotThere",
    "IndexStore",
    "empty_index",
    "open_index",
    "open_to_read",
    "open_to_write",
]


@dataclass(frozen=True, slots=True)
class IndexStore:
    """The open index; ``writer`` is None while another process keeps it up to date."""

    folder: Path
    catalogue: Catalogue
    lexical: LexicalIndex
    writer: CatalogueWriter | None
    lock: InstanceLock
    # What was found to be damaged while it was opened, where it lies now.
    moved: tuple[Path, ...] = ()
    # Why an index that no other process writes is not written here either: the disk refuses.
    refusal: str = ""
    release: Callable[[], None] = lambda: None

    @property
    def writing(self) -> CatalogueWriter:
        """The catalogue's writer, where this process has it."""
        if self.writer is None:
            raise StorageError(f"another codekernel keeps the index in {self.folder}")
        return self.writer

    @property
    def wants_reopening(self) -> bool:
        """Whether it was opened on a full disk, keeps others out since, and need not any more."""
        return keeps_others_out(self.folder / CATALOGUE_FILE) and not is_full(self.folder)

    def vectors_folder(self, name: str) -> Path:
        """Where the vectors of one embedding config lie."""
        return self.folder / VECTORS_FOLDER / name

    def vectors_folders(self) -> list[Path]:
        """The folders of all vectors there are, wanted or not, without what is quarantined."""
        folder = self.folder / VECTORS_FOLDER
        found = folder.iterdir() if folder.is_dir() else ()
        return sorted(each for each in found if not is_quarantined(each))

    def verify(self, between_steps: Callable[[], None] = lambda: None) -> None:
        """Compare catalog and words with their checksums; only by the thread that writes them.

        Raises CatalogueDamaged or IndexUnreadable.
        """
        from kernel.storage.index_verification import verify_index  # noqa: PLC0415 - later

        verify_index(self.folder, self.writing, between_steps)

    def signatures(self) -> dict[str, tuple[int, int, int]]:
        """What the system says of the files of catalog and words; others change with each write."""
        from kernel.storage.index_verification import sign_files  # noqa: PLC0415 - later

        return sign_files(self.folder)

    @property
    def is_current(self) -> bool:
        """Whether this is still the catalog at its place, and not one that was quarantined."""
        return self.catalogue.is_at_its_place

    def disk_bytes(self) -> int:
        """What the whole index takes on disk."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    def close_to_others(self) -> None:
        """Take other people's access to the files that the engines have made away."""
        close_files_to_others(self.folder)

    def close(self) -> None:
        """Close what was opened and let another process have it."""
        self.lexical.close()
        self.catalogue.close()
        if self.writer:
            self.writer.close()
            self.close_to_others()
        self.lock.release()
        self.release()


class IndexToReopen(StorageError):
    """The index was opened on a full disk, and can be opened as usual by now."""


class IndexNotThere(StorageError):
    """Another process keeps this index, and what it has so far cannot be read here."""


def open_index(folder: Path, *, damage: BaseException | None = None) -> IndexStore:
    """Open the index in ``folder``, or make it; to read only if another process writes it.

    ``damage``: what was found to be damaged there; it is quarantined and not even tried. Where the
    disk is full or may not be written, what is there is opened as it is, and ``refusal`` says why.
    """
    try:
        return open_to_write(folder, damage=damage) or open_to_read(folder)
    except (CatalogueDamaged, IndexUnreadable, IndexNotThere):
        raise
    except StorageError as error:
        if damage or not takes_nothing(folder):
            raise
        return _open_as_it_is(folder, error)


def open_to_write(folder: Path, *, damage: BaseException | None = None) -> IndexStore | None:
    """Open or make the index; None if another process writes it.

    Damage that shows only when the parts are compared is quarantined as any other.
    """
    try:
        return _open_to_write(folder, damage)
    except CatalogueDamaged as found:
        if isinstance(damage, CatalogueDamaged):
            raise
        return _open_to_write(folder, found)


def _open_to_write(folder: Path, damage: BaseException | None) -> IndexStore | None:
    before = _inodes(quarantined(folder))
    _make_folder(folder)
    lock = InstanceLock(folder / LOCK_FILE)
    if not lock.take():
        return None
    with ExitStack() as opening:
        opening.callback(lock.release)  # or the next attempt would take us for another process
        clear_the_way(folder)
        if isinstance(damage, CatalogueDamaged | IndexUnreadable):
            # Words have the numbers of the catalog's rows, so they go with it; it stays without.
            put_aside(folder, catalog=isinstance(damage, CatalogueDamaged))
        writer = catalogue_writer(folder)
        opening.callback(writer.close)
        catalogue = Catalogue(folder / CATALOGUE_FILE)
        opening.callback(catalogue.close)
        lexical = words_of_catalogue(folder, catalogue, writer)
        opening.pop_all()
    moved = tuple(path for path in quarantined(folder) if not _inodes([path]) <= before)
    return IndexStore(folder, catalogue, lexical, writer, lock, moved)


def open_to_read(folder: Path) -> IndexStore:
    """Open what another process writes; raises IndexNotThere if it is not ready to be read."""
    path = folder / CATALOGUE_FILE
    try:
        see_catalogue(path)
        lexical = LexicalIndex.open(folder / LEXICAL_FOLDER, writable=False)
    except (CatalogueDamaged, IndexUnreadable) as reason:
        raise IndexNotThere(
            f"another codekernel keeps the index in {folder} and has made nothing yet that can be"
            f" read here: {reason}"
        ) from reason
    return IndexStore(folder, Catalogue(path), lexical, None, InstanceLock(folder / LOCK_FILE))


def _inodes(paths: Iterable[Path]) -> set[int]:
    found = set()
    for path in paths:
        with suppress(OSError):
            found.add(path.lstat().st_ino)
    return found


def _make_folder(folder: Path) -> None:
    """Make the folder; a file in its place, or in that of all indexes, is quarantined."""
    for place in (folder.parent, folder):
        if os.path.lexists(place) and not place.is_dir():
            quarantine_derived(place)
    make_private_folder(folder)
    lock = folder / LOCK_FILE
    if os.path.lexists(lock) and not is_usable_file(lock):
        quarantine_derived(lock)


def _open_as_it_is(folder: Path, error: StorageError) -> IndexStore:
    """Open an index without writing anything beside it; raises ``error`` if that cannot be."""
    from kernel.storage.lexical_view import readable_words  # noqa: PLC0415 - seldom

    with ExitStack() as opening:
        try:
            see_catalogue(folder / CATALOGUE_FILE)
            words = opening.enter_context(readable_words(folder / LEXICAL_FOLDER))
            lexical = LexicalIndex.open(words, writable=False)
            # Without a look at both nobody knows whether they can be read.
            lexical.search_all(["a"], 1)
            catalogue = Catalogue(folder / CATALOGUE_FILE)
            opening.callback(catalogue.close)
            catalogue.counts()
        except (StorageError, OSError):
            raise error from None
        release = opening.pop_all().close
    lock = InstanceLock(folder / LOCK_FILE)
    return IndexStore(folder, catalogue, lexical, None, lock, refusal=str(error), release=release)


@contextmanager
def empty_index() -> Iterator[IndexStore]:
    """An index of nothing, to be asked until there is one."""
    with ExitStack() as opening:
        try:
            place = opening.enter_context(
                TemporaryDirectory(prefix="codekernel-", ignore_cleanup_errors=True)
            )
        except OSError as error:
            raise explain(error, Path(gettempdir())) from error
        store = open_index(Path(place))
        opening.callback(store.close)
        yield replace(store, writer=None)
