"""The database of agent sessions: userData/agent/sync.db, written by one kernel at a time.

A damaged file is quarantined with its companions and a new one is begun; it is never overwritten.
"""

import logging
import secrets
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from codekernel.errors import StorageError
from codekernel.protocol.envelope import dump_json, load_json
from codekernel.storage.engines import (
    CatalogDamaged,
    begin_write,
    close_on_error,
    connect_sqlite,
    read_user_version,
    translate_sqlite_errors,
)
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.quarantine import (
    DATABASE_SUFFIXES,
    clear_parent_folders,
    quarantine_database,
    quarantine_user_file,
)
from codekernel.storage.safe_files import (
    add_suffix,
    create_file_atomically,
    create_private_file,
    is_misplaced,
    make_private_folder,
    read_regular,
    translate_os_errors,
)

logger = logging.getLogger(__name__)

# Increased when a table changes; a database of a later format is left alone.
SYNC_FORMAT = 1

# Another process only reads, or copies it.
_BUSY_TIMEOUT_SECONDS = 10.0

_TABLES = """
CREATE TABLE session (
    id TEXT PRIMARY KEY,
    tag TEXT UNIQUE,
    backend_session TEXT NOT NULL,
    state TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE message (
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    local_id TEXT,
    created_at INTEGER NOT NULL,
    invoked_at INTEGER,
    device TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (session_id, seq),
    UNIQUE (session_id, local_id)
) WITHOUT ROWID;
CREATE INDEX waiting ON message (session_id, seq) WHERE invoked_at IS NULL;
-- The log of approvals: who answered what, and on which device.
CREATE TABLE permission (
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
) WITHOUT ROWID
"""

Result = TypeVar("Result")


class SyncDatabase:
    """A connection for any thread, one at a time; ``on_lost`` is called after a quarantine."""

    def __init__(self, path: Path | None, on_lost: Callable[[], None] = lambda: None) -> None:
        """``path`` None: in memory, for a kernel beside the one that has the file."""
        self._path = path
        self._on_lost = on_lost
        self._lock = threading.RLock()
        self._database: sqlite3.Connection | None = None
        self._is_closed = False

    def read(self, use: Callable[[sqlite3.Connection], Result]) -> Result:
        """Use the connection. Raises StorageError."""
        with self._lock:
            try:
                return self._use(use)
            except CatalogDamaged as damage:
                self._quarantine(damage)
                return self._use(use)

    def write(self, use: Callable[[sqlite3.Connection], Result]) -> Result:
        """Use the connection within one transaction. Raises StorageError."""

        def commit(database: sqlite3.Connection) -> Result:
            with begin_write(database):
                return use(database)

        return self.read(commit)

    def close(self) -> None:
        """Close the connection for good; what was written is on disk."""
        with self._lock:
            self._is_closed = True
            self._disconnect()

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _use(self, use: Callable[[sqlite3.Connection], Result]) -> Result:
        if self._is_closed:
            raise StorageError("This kernel ends: the next one runs the agents.")
        with translate_sqlite_errors(self._path or Path("memory")):
            if self._database is None:
                self._database = _open_file(self._path) if self._path else _open_memory()
            return use(self._database)

    def _quarantine(self, damage: CatalogDamaged) -> None:
        self._disconnect()
        if self._path is None:
            raise damage
        aside = quarantine_database(self._path)
        logger.error("%s; it was kept as %s, and new sessions begin", damage, aside.name)
        self._on_lost()


def _open_memory() -> sqlite3.Connection:
    database = connect_sqlite("file::memory:", _BUSY_TIMEOUT_SECONDS)
    _prepare(database, Path("memory"))
    return database


def _open_file(path: Path) -> sqlite3.Connection:
    clear_parent_folders(path.parent)
    with translate_os_errors(path):
        make_private_folder(path.parent)
        for suffix in DATABASE_SUFFIXES:
            if is_misplaced(add_suffix(path, suffix)):  # opening a pipe would block
                quarantine_user_file(add_suffix(path, suffix))
        create_private_file(path)
    database = connect_sqlite(f"{path.absolute().as_uri()}?mode=rw", _BUSY_TIMEOUT_SECONDS)
    with close_on_error(database):
        database.execute("PRAGMA journal_mode = WAL")
        # A message that was accepted survives a loss of power.
        database.execute("PRAGMA synchronous = FULL")
        problem = database.execute("PRAGMA quick_check(1)").fetchone()
        if problem != ("ok",):
            raise CatalogDamaged(f"{path} is damaged: {problem[0] if problem else 'unreadable'}")
        _prepare(database, path)
    return database


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    database.execute("PRAGMA foreign_keys = ON")
    version = read_user_version(database)
    if version > SYNC_FORMAT:
        raise StorageError(f"{path} was written by a later version of codekernel; update this one.")
    if version < SYNC_FORMAT:
        with begin_write(database):
            for statement in _TABLES.split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {SYNC_FORMAT}")


class SyncFolder:
    """userData/agent as the engine uses it; ``lock`` is held by the kernel that runs agents."""

    def __init__(self, folder: Path) -> None:
        self.database_file = folder / "sync.db"
        self.lock = ProcessLock(folder / "sync.lock")
        self._machine_file = folder / "machine.json"

    def read_machine_id(self) -> str:
        """Return the id of this machine, which is made once and stays. Raises StorageError."""
        if found := self._load_machine_id():
            return found
        clear_parent_folders(self._machine_file.parent)
        with translate_os_errors(self._machine_file):
            make_private_folder(self._machine_file.parent)
            if self._machine_file.exists() or is_misplaced(self._machine_file):
                quarantine_user_file(self._machine_file)
            content = dump_json({"id": secrets.token_hex(16)}, indented=True)
            create_file_atomically(self._machine_file, content)  # unless another one was first
        return self._load_machine_id()

    def _load_machine_id(self) -> str:
        with suppress(OSError, ValueError):
            content = load_json(read_regular(self._machine_file))
            if isinstance(content, dict) and isinstance(content.get("id"), str):
                return str(content["id"])
        return ""
