"""The call graph database calls.db: schema, rows, checksums.

It is a cache of the catalog by file digest; when damaged it is quarantined and rebuilt.
"""

import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from codekernel.domain.call_graph import (
    CallFacts,
    CallReference,
    ImportBinding,
    ReceiverKind,
    SymbolDefinition,
)
from codekernel.errors import StorageError
from codekernel.storage.catalog.schema import join_names, replace_surrogates, split_names
from codekernel.storage.engine_errors import (
    CatalogDamaged,
    get_primary_code,
    translate_sqlite_errors,
)
from codekernel.storage.page_checksums import PageChecksums
from codekernel.storage.quarantine import (
    DERIVED_DATABASE_SUFFIXES,
    add_suffix,
    quarantine_derived_database,
)
from codekernel.storage.safe_files import is_usable_file
from codekernel.storage.sqlite_files import begin_write, connect_sqlite
from codekernel.storage.user_data import create_private_file

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
    if _read_version(database) == CALLS_FORMAT:
        return
    with begin_write(database):
        if _read_version(database) == CALLS_FORMAT:  # another process was first
            return
        tables = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for (table,) in tables:
            database.execute(f'DROP TABLE "{table}"')
        for statement in _TABLES.split(";"):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {CALLS_FORMAT}")


def _read_version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return int(version)


DEFINITION_COLUMNS = "number, name, owner, kind, of_class, first, last, least, most, bases, returns"

# Modules with these file names are named after their folder.
_FOLDER_NAMED_STEMS = frozenset({"__init__", "index", "mod", "lib", "main"})


def hash_name(name: str) -> int:
    """Return the checksum of a name."""
    return zlib.crc32(name.encode(errors="replace"))


def get_module_stem(path: str) -> str:
    """Return the name of a module: its file without extensions, or its folder."""
    folder, _, name = path.rpartition("/")
    stem = name.split(".", 1)[0]
    return folder.rpartition("/")[2] or stem if stem in _FOLDER_NAMED_STEMS else stem


def make_definition_row(file: int, one: SymbolDefinition) -> tuple[Any, ...]:
    """Return the columns of a definition."""
    names = map(replace_surrogates, (one.name, one.owner, one.kind, one.class_name))
    numbers = (one.first_line, one.last_line, one.min_arguments, one.max_arguments)
    types = join_names(one.bases), replace_surrogates(one.return_type)
    return file, one.number, *names, *numbers, *types


def parse_definition_row(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the fields of a SymbolDefinition from a row of DEFINITION_COLUMNS."""
    *fields, bases, returns = row
    return *fields, split_names(bases), returns


def pack_facts(facts: CallFacts) -> bytes:
    """Pack the references and imports of a file."""
    references = [
        (one.name, one.line, one.enclosing_definition, int(one.receiver_kind), one.receiver_text,
         one.argument_count)
        for one in facts.references
    ]  # fmt: skip
    imports = [(one.alias, one.module, one.name) for one in facts.imports]
    return zlib.compress(json.dumps([references, imports]).encode(), 1)


def unpack_facts(packed: bytes) -> tuple[list[CallReference], list[ImportBinding]]:
    """Unpack the references and imports of a file."""
    references, imports = json.loads(zlib.decompress(packed))
    return (
        [CallReference(name, line, within, _RECEIVER_KINDS[kind], text, arguments)
         for name, line, within, kind, text, arguments in references],
        [ImportBinding(*fields) for fields in imports],
    )  # fmt: skip


_RECEIVER_KINDS = list(ReceiverKind)


def quarantine_calls_if_damaged(path: Path) -> None:
    """Quarantine the database if it is damaged, or if it cannot be verified."""
    if find_calls_damage(path) or (_has_content(path) and not _has_checksums_or_is_open(path)):
        logger.info("%s is rebuilt from the catalog", path)
        quarantine_derived_database(path)


def find_calls_damage(path: Path) -> str:
    """Return what is wrong with the database; "" if it is intact, or cannot be verified."""
    for end in DERIVED_DATABASE_SUFFIXES:
        companion = add_suffix(path, end)
        if os.path.lexists(companion) and not is_usable_file(companion):
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


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _has_checksums_or_is_open(path: Path) -> bool:
    """Return whether there are checksums, or a process that has it open and will write them."""
    return PageChecksums(path).path.exists() or not _is_closed_elsewhere(path)


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
