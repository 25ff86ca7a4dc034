"""The call graph database calls.db: schema, checksums, damage.

It is a cache of the catalog by file digest; when damaged it is quarantined and rebuilt.
"""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.engines import (
    CatalogDamaged,
    begin_write,
    connect_sqlite,
    get_primary_code,
    read_user_version,
    translate_sqlite_errors,
)
from codekernel.storage.page_checksums import PageChecksums
from codekernel.storage.quarantine import DERIVED_DATABASE_SUFFIXES, quarantine_derived_database
from codekernel.storage.safe_files import add_suffix, create_private_file, is_misplaced, read_size

logger = logging.getLogger(__name__)

CALLS_FILE = "calls.db"

# Increased whenever extraction or a row changes its meaning.
CALLS_FORMAT = 2

CALLS_BUSY_TIMEOUT_SECONDS = 30.0

_TABLES = """
CREATE TABLE source (
    file INTEGER PRIMARY KEY,
    path BLOB NOT NULL,
    stem TEXT NOT NULL,
    language TEXT NOT NULL,
    digest BLOB NOT NULL
);
CREATE INDEX source_by_stem ON source (stem);
CREATE INDEX source_by_path ON source (path);
CREATE TABLE facts (file INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE TABLE definition (
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    of_class TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    least INTEGER NOT NULL,
    most INTEGER NOT NULL,
    bases TEXT NOT NULL,
    returns TEXT NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX definition_by_name ON definition (name, of_class);
-- The last name of each base of a class: who may override its methods.
CREATE TABLE base (
    name TEXT NOT NULL,
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (name, file, number)
) WITHOUT ROWID;
CREATE INDEX base_of_file ON base (file);
-- Which files call something of this name, by its checksum: a collision costs one look.
CREATE TABLE mention (
    name INTEGER NOT NULL,
    file INTEGER NOT NULL,
    PRIMARY KEY (name, file)
) WITHOUT ROWID;
"""


def connect_calls(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Return a connection that any thread may use, one at a time."""
    if not read_only:
        create_private_file(path)
    address = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    return connect_sqlite(address, CALLS_BUSY_TIMEOUT_SECONDS)


def prepare_calls(database: sqlite3.Connection) -> None:
    """Make the tables; delete those of another format first."""
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    if read_user_version(database) == CALLS_FORMAT:
        return
    with begin_write(database):
        if read_user_version(database) == CALLS_FORMAT:  # another process was first
            return
        tables = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for (table,) in tables:
            database.execute(f'DROP TABLE "{table}"')
        for statement in _TABLES.split(";"):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {CALLS_FORMAT}")


def quarantine_calls_if_damaged(path: Path) -> None:
    """Quarantine the database if it is damaged, or if it cannot be verified."""
    # First what lies there: opening a pipe blocks. A process that has it open will write checksums.
    if find_calls_damage(path) or (
        read_size(path) and not PageChecksums(path).path.exists() and _is_closed_elsewhere(path)
    ):
        logger.info("%s is rebuilt from the catalog", path)
        quarantine_derived_database(path)


def find_calls_damage(path: Path) -> str:
    """Return what is wrong with the database; "" if it is intact, or cannot be verified."""
    for end in DERIVED_DATABASE_SUFFIXES:
        companion = add_suffix(path, end)
        if is_misplaced(companion):
            return f"{companion} is not a file that can be read"
    if not path.exists():
        return ""
    try:
        PageChecksums(path).verify()
    except CatalogDamaged as damage:
        return str(damage)
    return ""


def write_calls_checksums(path: Path) -> None:
    """Write the checksums, if no connection is open any more."""
    if path.exists() and not add_suffix(path, "-wal").exists():
        try:
            PageChecksums(path).adopt_current_pages()
        except StorageError as error:
            logger.warning("%s", error)


def _is_closed_elsewhere(path: Path) -> bool:
    """Return whether no other connection has the database open."""
    try:
        with translate_sqlite_errors(path), closing(connect_calls(path)) as database:
            database.execute("PRAGMA busy_timeout = 0")
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
            database.execute("ROLLBACK")
    except CatalogDamaged:
        return True
    except StorageError as error:
        return get_primary_code(error.__cause__) != sqlite3.SQLITE_BUSY
    return True
