"""The tables of ``calls.db`` and how it is opened.

It is a cache of the catalogue by digest: of another format, or damaged, it is thrown away, and a
power cut may take the last commits. Any process may write it, because every write replaces the
rows of whole files with what their digests say.
"""

import sqlite3
from pathlib import Path

from kernel.storage.private_folder import create_private_file

CALLS_FILE = "calls.db"
# Raised whenever extraction or a row changes its meaning.
FORMAT = 2
BUSY_SECONDS = 30.0
CACHE_KIB = 16 * 1024

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


def open_calls(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection that any thread may use, one at a time."""
    name = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    if not read_only:
        create_private_file(path)
    database = sqlite3.connect(
        name, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    return database


def prepare(database: sqlite3.Connection) -> None:
    """Make the tables, or throw away those of another format and make them."""
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    if _version(database) == FORMAT:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        if _version(database) != FORMAT:  # another process may have been first
            tables = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            ).fetchall()
            for (table,) in tables:
                database.execute(f'DROP TABLE "{table}"')
            for statement in _TABLES.split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def _version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return int(version)
