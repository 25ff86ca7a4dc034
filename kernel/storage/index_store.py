"""The index of one repository on disk: catalogue, words and vectors in one folder.

Whatever cannot be read is set aside and made anew: everything here follows from the user's files.
"""

import logging
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.catalogue import Catalogue
from kernel.storage.catalogue_batch import CatalogueWriter
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.failures import explain
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.storage.lexical_index import LexicalIndex

logger = logging.getLogger(__name__)

CATALOGUE_FILE = "catalogue.db"
_LEXICAL = "words"
_VECTORS = "vectors"
_ASIDE_SUFFIX = ".unreadable"


@dataclass(frozen=True, slots=True)
class IndexStore:
    """The open index; ``writer`` is None while another process keeps it up to date."""

    folder: Path
    catalogue: Catalogue
    lexical: LexicalIndex
    writer: CatalogueWriter | None
    lock: InstanceLock

    @property
    def writing(self) -> CatalogueWriter:
        """The catalogue's writer, where this process has it."""
        if self.writer is None:
            raise StorageError(f"another codekernel keeps the index in {self.folder}")
        return self.writer

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


def open_index(folder: Path, *, set_aside: bool = False) -> IndexStore:
    """Open the index in ``folder``, or make it; to read only if another process writes it.

    ``set_aside``: what is there was found to be damaged, and is not even tried.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain(error, folder) from error
    lock = InstanceLock(folder / "writer.lock")
    if not lock.acquire():
        logger.warning("another codekernel keeps the index in %s; it is only read here", folder)
        lexical = LexicalIndex.open(folder / _LEXICAL, writable=False)
        return IndexStore(folder, Catalogue(folder / CATALOGUE_FILE), lexical, None, lock)
    with ExitStack() as opening:
        opening.callback(lock.release)  # or the next attempt would take us for another process
        if set_aside:
            _set_aside(folder)
        writer = _open_catalogue(folder)
        opening.callback(writer.close)
        catalogue = Catalogue(folder / CATALOGUE_FILE)
        opening.callback(catalogue.close)
        lexical = _open_lexical(folder, catalogue, writer)
        opening.pop_all()
    return IndexStore(folder, catalogue, lexical, writer, lock)


def _open_catalogue(folder: Path) -> CatalogueWriter:
    path = folder / CATALOGUE_FILE
    try:
        writer = CatalogueWriter(path)
        writer.pending()  # a first look at the file's content
    except CatalogueDamaged as damage:
        logger.warning("%s; the index is set aside and rebuilt from the files", damage)
        _set_aside(folder)
        return CatalogueWriter(path)
    return writer


def _open_lexical(folder: Path, catalogue: Catalogue, writer: CatalogueWriter) -> LexicalIndex:
    """Open the words; if they are damaged or not those of the catalogue, all are written again."""
    place = folder / _LEXICAL
    try:
        lexical = LexicalIndex.open(place, writable=True)
    except IndexUnreadable as damage:
        logger.warning("%s; the words are indexed again from the catalogue", damage)
        shutil.rmtree(place, ignore_errors=True)
        lexical = LexicalIndex.open(place, writable=True)
    if not writer.pending() and lexical.document_count != catalogue.counts()[1]:
        logger.warning("the words in %s are not those of the catalogue; indexed again", place)
        lexical.clear()
        lexical.commit()
    if lexical.document_count == 0:
        with writer.batch() as batch:
            batch.expect_all()
    return lexical


def _set_aside(folder: Path) -> None:
    """Move catalogue and words away together; of what was set aside, only the last is kept."""
    for name in (f"{CATALOGUE_FILE}-wal", f"{CATALOGUE_FILE}-shm", CATALOGUE_FILE, _LEXICAL):
        here, there = folder / name, folder / f"{name}{_ASIDE_SUFFIX}"
        if not here.exists():
            continue
        try:
            shutil.rmtree(there, ignore_errors=True) if there.is_dir() else there.unlink(
                missing_ok=True
            )
            here.rename(there)
        except OSError as error:
            raise explain(error, here) from error
