"""Recover rows of a vault from a damaged or foreign (PocketRAG) database.

Keep a plain list of repositories beside the vault.
"""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from sqlcipher3 import dbapi2

from codekernel.errors import StorageError
from codekernel.storage.quarantine import is_irregular, quarantine_user_file
from codekernel.storage.safe_files import write_bytes_atomically
from codekernel.storage.sqlite_files import begin_write
from codekernel.storage.vault.encrypted_database import (
    DatabaseConnection,
    DatabaseRow,
    connect_read_only,
    decode_column,
    encode_column,
)
from codekernel.storage.vault.vault_key import VaultKey

_OpenConnection: TypeAlias = Callable[[], AbstractContextManager[DatabaseConnection]]

_SQLITE_HEADER = b"SQLite format 3\0"

_USAGE_COLUMNS = "repo_id, model_name, day, input_tokens, output_tokens"


@dataclass(frozen=True, slots=True)
class VaultRows:
    """Rows in the order of the columns; those of a PocketRAG have no repository id yet."""

    repositories: Sequence[DatabaseRow] = field(default=(), repr=False)
    api_keys: Sequence[DatabaseRow] = field(default=(), repr=False)
    usage: Sequence[DatabaseRow] = field(default=(), repr=False)
    receipts: Sequence[DatabaseRow] = field(default=(), repr=False)
    is_pocketrag: bool = False


def is_plain_sqlite(path: Path) -> bool:
    """Return whether a file is a SQLite database that is not encrypted."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
    except OSError:
        return False


def read_pocketrag(path: Path) -> VaultRows:
    """Read what an earlier PocketRAG kept; rows that cannot be read are left out."""
    with _remove_new_companions(path):
        connect = partial(_connect_plain, path)
        schema = " ".join(
            str(sql) for (sql,) in _iterate_rows(connect, "SELECT sql FROM sqlite_master")
        )
        if "repo_name" not in schema and "generation_model" not in schema:
            return VaultRows()
        repositories = _read_both_directions(connect, "repo_name, repo_path", "repository")
        keys = _read_both_directions(connect, "model_name, api_key", "generation_model")
    return VaultRows(
        repositories=[
            _encode_columns((None, *row)) for row in repositories if _has_only_texts(row)
        ],
        api_keys=[_encode_columns(row) for row in keys if _has_only_texts(row)],
        is_pocketrag=True,
    )


def salvage_rows(path: Path, key: VaultKey) -> VaultRows:
    """Read every row that lies on an intact page; none if the key does not fit."""
    with _remove_new_companions(path):
        return _read_tables(lambda: closing(connect_read_only(path, key)))


def read_vault_rows(database: DatabaseConnection) -> VaultRows:
    """Read every row of an open database."""
    return _read_tables(lambda: nullcontext(database))


def _read_tables(connect: _OpenConnection) -> VaultRows:
    return VaultRows(
        repositories=_read_both_directions(connect, "id, name, path", "repository"),
        api_keys=_read_both_directions(connect, "name, api_key", "api_key"),
        usage=_read_both_directions(connect, _USAGE_COLUMNS, "usage"),
        receipts=_read_both_directions(connect, "receipt", "usage_receipt"),
    )


def insert_rows(database: DatabaseConnection, rows: VaultRows) -> None:
    """Insert, in one transaction, the rows that are not there yet."""
    with begin_write(database):
        for table, values in (
            ("repository (id, name, path)", rows.repositories),
            ("api_key (name, api_key)", rows.api_keys),
            (f"usage ({_USAGE_COLUMNS})", rows.usage),
            ("usage_receipt (receipt)", rows.receipts),
        ):
            has_repo = table.startswith("usage (")
            condition = " WHERE ? IN (SELECT id FROM repository)" if has_repo else ""
            for row in values:
                places = ", ".join("?" * len(row))
                database.execute(
                    f"INSERT OR IGNORE INTO {table} SELECT {places}{condition}",
                    [*row, row[0]] if has_repo else row,
                )


def _read_both_directions(connect: _OpenConnection, columns: str, table: str) -> list[DatabaseRow]:
    """Return the rows before the first damaged page and after the last one."""
    found: dict[DatabaseRow, DatabaseRow] = {}
    for order in ("ASC", "DESC"):
        statement = f"SELECT rowid, {columns} FROM {table} NOT INDEXED ORDER BY rowid {order}"  # noqa: S608
        for row in _iterate_rows(connect, statement):
            found.setdefault(row[:1], row)
    return [found[number][1:] for number in sorted(found)]


def _iterate_rows(connect: _OpenConnection, statement: str) -> Iterator[DatabaseRow]:
    # A connection of its own: after one damaged page SQLCipher reads no other.
    try:
        with connect() as database:
            cursor = database.execute(statement)
            while (row := cursor.fetchone()) is not None:
                yield row
    except (dbapi2.Error, UnicodeDecodeError):
        return


def _connect_plain(path: Path) -> AbstractContextManager[DatabaseConnection]:
    # Read only: the file stays as it was found, its -wal file included.
    database = dbapi2.connect(f"{path.as_uri()}?mode=ro", uri=True)
    database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return closing(database)


@contextmanager
def _remove_new_companions(path: Path) -> Iterator[None]:
    """Remove the empty -wal and -shm files that reading makes where there were none."""
    names = [path.with_name(path.name + suffix) for suffix in ("-wal", "-shm")]
    absent = [name for name in names if not name.exists()]
    try:
        yield
    finally:
        for name in absent:
            with suppress(OSError):
                name.unlink()


def _has_only_texts(row: DatabaseRow) -> bool:
    return all(isinstance(value, str) and value for value in row)


def _encode_columns(row: DatabaseRow) -> DatabaseRow:
    return tuple(encode_column(value) if isinstance(value, str) else value for value in row)


MAX_REPO_LIST_BYTES = 16 * 1024 * 1024

# A damaged number must not use up the ids that SQLite can give.
MAX_REPO_ID = 2**31

_logger = logging.getLogger(__name__)


def read_repo_list(path: Path) -> list[DatabaseRow]:
    """Return the rows of the table ``repository``; none if the file is missing or damaged."""
    try:
        if is_irregular(path) or path.stat().st_size > MAX_REPO_LIST_BYTES:
            return []
        entries = _verify_entries(json.loads(path.read_bytes()))
        named = [(each["id"], each["name"], each["path"]) for each in entries]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        _logger.warning("%s is damaged and will be written again", path)
        return []
    return [
        (number, encode_column(name), encode_column(folder))
        for number, name, folder in named
        if isinstance(number, int) and 0 < number <= MAX_REPO_ID
        if isinstance(name, str) and name and isinstance(folder, str) and folder
        if "\0" not in name + folder
    ]


def write_repo_list(path: Path, database: DatabaseConnection) -> None:
    """Write the list if it differs from the vault; a failure is only logged."""
    rows = database.execute("SELECT id, name, path FROM repository ORDER BY id").fetchall()
    entries = [
        {"id": number, "name": decode_column(name), "path": decode_column(folder)}
        for number, name, folder in rows
    ]
    document = {"repositories": entries, "sha256": _compute_checksum(entries)}
    content = json.dumps(document, indent=1).encode()
    try:
        if is_irregular(path):
            quarantine_user_file(path)
        if content != _read_content(path) and (rows or path.exists()):
            write_bytes_atomically(path, content, mode=0o600)
    except (OSError, StorageError) as error:
        _logger.warning("the list of repositories could not be written beside the vault: %s", error)


def _verify_entries(document: Any) -> list[Any]:
    """Return the entries of the list; raises ValueError if its checksum differs."""
    entries: list[Any] = document["repositories"]
    if document["sha256"] != _compute_checksum(entries):
        raise ValueError("the checksum differs")
    return entries


def _compute_checksum(entries: object) -> str:
    return sha256(json.dumps(entries).encode()).hexdigest()


def _read_content(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""
