"""The vectors of every text that was embedded with one model, shared by all indexes of a userData.

A SQLite database per model, named by its fingerprint; rows are named by the hash of their text and
have a checksum of their own. It is a cache: what is missing or damaged is embedded again. Several
processes may use it.
"""

import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np

from codekernel.errors import StorageError
from codekernel.storage.catalog.rows import query_in
from codekernel.storage.engines import (
    CatalogDamaged,
    begin_write,
    close_on_error,
    connect_sqlite,
    read_user_version,
    translate_sqlite_errors,
)
from codekernel.storage.quarantine import (
    DERIVED_DATABASE_SUFFIXES,
    quarantine_derived_database,
    quarantine_derived_file,
)
from codekernel.storage.safe_files import (
    add_suffix,
    create_private_file,
    is_misplaced,
    make_private_parents,
    translate_os_errors,
)
from codekernel.storage.vectors.in_memory_vectors import (
    AnyFloatArray,
    Int64Array,
    VectorKeysLike,
    find_in_sorted,
    round_rows,
    sort_unique,
)
from codekernel.storage.vectors.lance_table import HalfArray, compute_fingerprints

logger = logging.getLogger(__name__)

# Increased whenever a row changes its meaning; vectors of another format are deleted.
SHARED_VECTORS_FORMAT = 1

# A writer holds the lock for milliseconds.
_BUSY_TIMEOUT_SECONDS = 10.0

# Deleting so many rows takes 20 ms, for which writers wait.
_DELETE_BATCH_SIZE = 4_000

# The rows lie in the order in which they came: keys are random, and rows sorted by them would touch
# a page each.
_TABLES = """
CREATE TABLE vector (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL UNIQUE,
    fingerprint INTEGER NOT NULL,
    numbers BLOB NOT NULL
);
-- Rows whose text is in no index, and since when that is known.
CREATE TABLE unused (key INTEGER PRIMARY KEY, since INTEGER NOT NULL);
-- Tables of vectors that are older than this database, and were copied into it.
CREATE TABLE source (name TEXT PRIMARY KEY)
"""

_DELETE_STATEMENTS = ("DELETE FROM vector WHERE key IN", "DELETE FROM unused WHERE key IN")

Result = TypeVar("Result")


class SharedVectors:
    """The vectors of one model; used by one thread at a time.

    Errors are logged and leave it without vectors: nothing depends on it but time.
    """

    def __init__(self, path: Path, dimensions: int) -> None:
        """Open nothing yet."""
        self._path = path
        self._dimensions = dimensions
        self._database: sqlite3.Connection | None = None

    def find(self, keys: VectorKeysLike) -> tuple[Int64Array, HalfArray]:
        """Return which of these keys have a vector, and their vectors."""
        wanted = np.asarray(keys, dtype=np.int64).tolist()
        found = self._run(lambda database: self._find(database, wanted))
        if found is None:
            return np.empty(0, np.int64), np.empty((0, self._dimensions), np.float16)
        return found

    def add(self, keys: VectorKeysLike, vectors: AnyFloatArray) -> None:
        """Add rows; a key that has a vector already keeps it."""
        numbers = round_rows(vectors)
        self._run(lambda database: _insert(database, np.asarray(keys, np.int64), numbers))

    def copy_once(
        self, name: str, read_rows: Callable[[], Iterator[tuple[Int64Array, HalfArray]]]
    ) -> None:
        """Add the rows of a table that is older than this database, unless that was done."""

        def copy(database: sqlite3.Connection) -> None:
            statement = "SELECT 1 FROM source WHERE name = ?"
            if database.execute(statement, (name,)).fetchone() is None:
                for keys, numbers in read_rows():
                    _insert(database, keys, numbers)
                database.execute("INSERT OR IGNORE INTO source VALUES (?)", (name,))

        self._run(copy)

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _find(
        self, database: sqlite3.Connection, wanted: list[int]
    ) -> tuple[Int64Array, HalfArray]:
        statement = "SELECT key, fingerprint, numbers FROM vector WHERE key IN"
        rows = list(query_in(database, statement, wanted))
        keys = np.array([row[0] for row in rows], np.int64)
        length = 2 * self._dimensions
        packed = b"".join(row[2] if len(row[2]) == length else bytes(length) for row in rows)
        numbers = np.frombuffer(packed, "<f2").reshape(len(rows), self._dimensions)
        known = np.array([row[1] for row in rows], np.int64).view(np.uint64)
        is_intact = compute_fingerprints(keys, numbers) == known
        if not is_intact.all():
            _delete(database, keys[~is_intact])
            logger.warning("%d vectors in %s are damaged", (~is_intact).sum(), self._path)
        return keys[is_intact], numbers[is_intact]

    def _run(self, use: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Open the database if needed and use it; quarantine one that is damaged, and try again."""
        for _ in range(2):
            try:
                with translate_sqlite_errors(self._path):
                    if self._database is None:
                        self._database = open_shared_vectors(self._path)
                    return use(self._database)
            except CatalogDamaged as damage:
                logger.warning("%s; its vectors are made again when they are needed", damage)
                self.close()
                _quarantine(self._path)
            except (StorageError, OSError) as error:
                logger.info("vectors are not shared for now: %s", error)
                self.close()
                return None
        return None


def open_shared_vectors(path: Path) -> sqlite3.Connection:
    """Return a connection to the database, which is made if need be. Raises sqlite3.Error."""
    for end in DERIVED_DATABASE_SUFFIXES:
        if is_misplaced(add_suffix(path, end)):  # opening a pipe would block
            quarantine_derived_file(add_suffix(path, end))
    with translate_os_errors(path):
        make_private_parents(path.parent)
    create_private_file(path)
    database = connect_sqlite(f"{path.absolute().as_uri()}?mode=rwc", _BUSY_TIMEOUT_SECONDS)
    with close_on_error(database):
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a database without tables
        database.execute("PRAGMA journal_mode = WAL")
        # After a loss of power the newest rows may be gone, and are embedded again.
        database.execute("PRAGMA synchronous = OFF")
        if read_user_version(database) != SHARED_VECTORS_FORMAT:
            _make_tables(database)
    return database


def _make_tables(database: sqlite3.Connection) -> None:
    with begin_write(database):
        if read_user_version(database) == SHARED_VECTORS_FORMAT:  # another process was first
            return
        for table in ("vector", "unused", "source"):
            database.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _TABLES.split(";"):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {SHARED_VECTORS_FORMAT}")


def _insert(database: sqlite3.Connection, keys: Int64Array, numbers: HalfArray) -> None:
    fingerprints = compute_fingerprints(keys, numbers).view(np.int64).tolist()
    packed = [row.tobytes() for row in numbers.astype("<f2", copy=False)]
    rows = zip(keys.tolist(), fingerprints, packed, strict=True)
    statement = "INSERT OR IGNORE INTO vector (key, fingerprint, numbers) VALUES (?, ?, ?)"
    with begin_write(database):
        database.executemany(statement, rows)


def _delete(database: sqlite3.Connection, keys: Int64Array) -> None:
    for start in range(0, len(keys), _DELETE_BATCH_SIZE):
        batch = keys[start : start + _DELETE_BATCH_SIZE].tolist()
        with begin_write(database):
            for statement in _DELETE_STATEMENTS:
                deque(query_in(database, statement, batch), maxlen=0)


def _quarantine(path: Path) -> None:
    try:
        quarantine_derived_database(path)
    except StorageError as error:
        logger.info("%s", error)


def sweep_shared_vectors(
    path: Path,
    live: Int64Array,
    max_unused_seconds: float,
    *,
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
) -> int:
    """Delete the rows that no index has used for so long; return how many bytes they took.

    ``live`` are the keys of all texts in all indexes. With ``dry_run`` nothing changes.
    Raises StorageError.
    """
    now = int(clock())
    with translate_sqlite_errors(path), closing(open_shared_vectors(path)) as database:
        keys = _read_keys(database, "SELECT key FROM vector")
        unused = keys[~find_in_sorted(keys, sort_unique(live))]
        known = dict(database.execute("SELECT key, since FROM unused").fetchall())
        expired = np.array(
            [key for key in unused.tolist() if now - known.get(key, now) >= max_unused_seconds],
            np.int64,
        )
        (row_bytes,) = database.execute(
            "SELECT length(numbers) FROM vector LIMIT 1"
        ).fetchone() or (0,)
        if not dry_run:
            _delete(database, expired)
            _replace_unused(database, np.setdiff1d(unused, expired), known, now)
            if len(expired):
                database.executescript("PRAGMA incremental_vacuum")  # frees a page a step
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return len(expired) * int(row_bytes)


def _replace_unused(
    database: sqlite3.Connection, unused: Int64Array, known: dict[int, int], now: int
) -> None:
    """Record since when rows are unused; a row that is used again is forgotten."""
    rows = [(key, known.get(key, now)) for key in unused.tolist()]
    with begin_write(database):
        database.execute("DELETE FROM unused")
        database.executemany("INSERT INTO unused VALUES (?, ?)", rows)


def _read_keys(database: sqlite3.Connection, statement: str) -> Int64Array:
    rows = database.execute(statement)
    return np.fromiter((key for (key,) in rows), np.int64)
