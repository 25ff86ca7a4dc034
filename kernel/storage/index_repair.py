"""Whatever of an index cannot be read is set aside and made anew, for it follows from the files."""

import logging
import shutil
from contextlib import closing
from pathlib import Path

from kernel.storage.catalogue import Catalogue
from kernel.storage.catalogue_batch import CatalogueWriter
from kernel.storage.catalogue_failures import CatalogueDamaged, sqlite_errors
from kernel.storage.catalogue_schema import FORMAT, connect
from kernel.storage.failures import explain
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.storage.lexical_index import LexicalIndex

logger = logging.getLogger(__name__)

CATALOGUE_FILE = "catalogue.db"
LEXICAL_FOLDER = "words"
_ASIDE_SUFFIX = ".unreadable"


def see_catalogue(path: Path) -> None:
    """Look at what another process writes; raises CatalogueDamaged if it cannot be read here."""
    if not path.exists():
        raise CatalogueDamaged(f"{path} is not there")
    with sqlite_errors(path), closing(connect(path, read_only=True)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        raise CatalogueDamaged(f"{path} has format {version}, this codekernel reads {FORMAT}")


def catalogue_writer(folder: Path) -> CatalogueWriter:
    """Open the catalogue to write; one that is damaged is set aside, and an empty one begun."""
    path = folder / CATALOGUE_FILE
    try:
        writer = CatalogueWriter(path)
        writer.pending()  # a first look at the file's content
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


def put_aside(folder: Path) -> None:
    """Move catalogue and words away together; of what was set aside, only the last is kept."""
    for name in (f"{CATALOGUE_FILE}-wal", f"{CATALOGUE_FILE}-shm", CATALOGUE_FILE, LEXICAL_FOLDER):
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
