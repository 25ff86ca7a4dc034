"""The index of one repository on disk: catalogue, words and vectors in one folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from kernel.errors import StorageError
from kernel.storage.catalogue import Catalogue
from kernel.storage.catalogue_batch import CatalogueWriter
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.failures import explain, is_full
from kernel.storage.full_disk_sqlite import keeps_others_out
from kernel.storage.index_repair import (
    CATALOGUE_FILE,
    LEXICAL_FOLDER,
    catalogue_writer,
    put_aside,
    see_catalogue,
    words_of_catalogue,
)
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.storage.lexical_index import LexicalIndex
from kernel.storage.lexical_view import readable_words

__all__ = [
    "CATALOGUE_FILE",
    "IndexNotThere",
    "IndexStore",
    "empty_index",
    "open_index",
    "open_to_read",
    "open_to_write",
]

_LOCK_FILE = "writer.lock"
_VECTORS = "vectors"


@dataclass(frozen=True, slots=True)
class IndexStore:
    """The open index; ``writer`` is None while another process keeps it up to date."""

    folder: Path
    catalogue: Catalogue
    lexical: LexicalIndex
    writer: CatalogueWriter | None
    lock: InstanceLock
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
        return self.folder / _VECTORS / name

    def vectors_folders(self) -> list[Path]:
        """The folders of all vectors there are, wanted or not."""
        folder = self.folder / _VECTORS
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def disk_bytes(self) -> int:
        """What the whole index takes on disk."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    def close(self) -> None:
        """Close what was opened and let another process have it."""
        self.lexical.close()
        self.catalogue.close()
        if self.writer:
            self.writer.close()
        self.lock.release()
        self.release()


class IndexToReopen(StorageError):
    """The index was opened on a full disk, and can be opened as usual by now."""


class IndexNotThere(StorageError):
    """Another process keeps this index, and what it has so far cannot be read here."""


def open_index(folder: Path, *, set_aside: bool = False) -> IndexStore:
    """Open the index in ``folder``, or make it; to read only if another process writes it.

    ``set_aside``: what is there was found to be damaged, and is not even tried. Where the disk is
    full or may not be written, what is there is opened as it is, and ``refusal`` says why.
    """
    try:
        return open_to_write(folder, set_aside=set_aside) or open_to_read(folder)
    except (CatalogueDamaged, IndexUnreadable, IndexNotThere):
        raise
    except StorageError as error:
        if set_aside:
            raise
        return _open_as_it_is(folder, error)


def open_to_write(folder: Path, *, set_aside: bool = False) -> IndexStore | None:
    """Open or make the index; None if another process writes it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain(error, folder) from error
    lock = InstanceLock(folder / _LOCK_FILE)
    if not lock.take():
        return None
    with ExitStack() as opening:
        opening.callback(lock.release)  # or the next attempt would take us for another process
        if set_aside:
            put_aside(folder)
        writer = catalogue_writer(folder)
        opening.callback(writer.close)
        catalogue = Catalogue(folder / CATALOGUE_FILE)
        opening.callback(catalogue.close)
        lexical = words_of_catalogue(folder, catalogue, writer)
        opening.pop_all()
    return IndexStore(folder, catalogue, lexical, writer, lock)


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
    return IndexStore(folder, Catalogue(path), lexical, None, InstanceLock(folder / _LOCK_FILE))


def _open_as_it_is(folder: Path, error: StorageError) -> IndexStore:
    """Open an index without writing anything beside it; raises ``error`` if that cannot be."""
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
    lock = InstanceLock(folder / _LOCK_FILE)
    return IndexStore(folder, catalogue, lexical, None, lock, str(error), release)


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
