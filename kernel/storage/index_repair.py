"""Whatever of an index is damaged is quarantined and made anew, for it follows from the files."""

import logging
import os
from contextlib import closing
from pathlib import Path

from kernel.storage.catalogue import Catalogue
from kernel.storage.catalogue_batch import CatalogueWriter
from kernel.storage.catalogue_failures import CatalogueDamaged, sqlite_errors
from kernel.storage.catalogue_schema import FORMAT, connect
from kernel.storage.index_shape import is_usable_file, is_usable_tree, misplaced_files
from kernel.storage.lexical_checksums import read_stamp
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.storage.lexical_index import LexicalIndex
from kernel.storage.quarantine import quarantine_derived

logger = logging.getLogger(__name__)

CATALOGUE_FILE = "catalogue.db"
LEXICAL_FOLDER = "words"
# The database goes last: without it SQLite would take a lone log for rubbish.
_CATALOG_FILES = tuple(
    f"{CATALOGUE_FILE}{end}" for end in (".sums", "-wal", "-shm", "-journal", "")
)


def see_catalogue(path: Path) -> None:
    """Look at what another process writes; raises CatalogueDamaged if it cannot be read here."""
    if not is_usable_file(path):
        raise CatalogueDamaged(f"{path} is not there, or not a file that can be read")
    with sqlite_errors(path), closing(connect(path, read_only=True)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        raise CatalogueDamaged(f"{path} has format {version}, this codekernel reads {FORMAT}")


def clear_the_way(folder: Path) -> list[Path]:
    """Quarantine what stands in the place of a file or folder of the index; returns what.

    It is done before anything is opened, because opening a pipe waits for ever.
    """
    moved: list[Path] = []
    for path in list(misplaced_files(folder)):
        # A catalog without its log, or without its sums, is not what it was.
        if path.name.startswith(CATALOGUE_FILE) and not path.name.endswith((".sums", "-shm")):
            moved += put_aside(folder)
        elif found := quarantine_derived(path):
            moved.append(found)
    for name in (LEXICAL_FOLDER, "vectors"):
        path = folder / name
        top_is_wrong = os.path.lexists(path) and not path.is_dir()
        damaged = not is_usable_tree(path, flat=True) if name == LEXICAL_FOLDER else top_is_wrong
        if damaged and (found := quarantine_derived(path)):
            moved.append(found)
    return moved


def catalogue_writer(folder: Path) -> CatalogueWriter:
    """Open the catalogue to write; one that is damaged is set aside, and an empty one begun."""
    path = folder / CATALOGUE_FILE
    if _is_lost(path):
        logger.warning("%s is gone or empty; the index is rebuilt from the files", path)
        put_aside(folder)
    try:
        writer = CatalogueWriter(path)
        try:
            writer.pending()  # a first look at the file's content
        except CatalogueDamaged:
            writer.close()
            raise
    except CatalogueDamaged as damage:
        logger.warning("%s; the index is set aside and rebuilt from the files", damage)
        put_aside(folder)
        return CatalogueWriter(path)
    return writer


def words_of_catalogue(folder: Path, catalogue: Catalogue, writer: CatalogueWriter) -> LexicalIndex:
    """Open the words; if they are damaged or not those of the catalogue, all are written again."""
    place = folder / LEXICAL_FOLDER
    try:
        lexical = LexicalIndex.open(place, writable=True)
    except IndexUnreadable as damage:
        logger.warning("%s; the words are indexed again from the catalogue", damage)
        quarantine_derived(place)
        lexical = LexicalIndex.open(place, writable=True)
    if not _belong_together(place, lexical, catalogue, writer):
        logger.warning("the words in %s are not those of the catalogue; indexed again", place)
        lexical.clear()
    if lexical.document_count == 0:
        with writer.batch() as batch:
            batch.expect_all()
    return lexical


def put_aside(folder: Path, *, catalog: bool = True) -> list[Path]:
    """Quarantine the words, and the catalog that their numbers are from; returns what was moved."""
    names = (*(_CATALOG_FILES if catalog else ()), LEXICAL_FOLDER)
    moved = [quarantine_derived(folder / name) for name in names]
    return [path for path in moved if path is not None]


def _is_lost(path: Path) -> bool:
    """Whether there was a catalog here once."""
    size = path.stat().st_size if path.exists() else 0
    return size == 0 and path.with_name(f"{path.name}.sums").exists()


def _belong_together(
    place: Path, lexical: LexicalIndex, catalogue: Catalogue, writer: CatalogueWriter
) -> bool:
    """Whether the words are those of the catalogue's rows, but for files noted as pending.

    A log that was lost takes the newest rows with it, and the notes on what was pending.
    """
    known, found = writer.lexical_stamp(), read_stamp(place)
    if lexical.document_count == 0 or (known is not None and known != found):
        return lexical.document_count == 0
    return bool(writer.pending()) or lexical.document_count == catalogue.counts()[1]
