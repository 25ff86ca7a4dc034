"""The rows of a vault as plain values: read from a damaged or a foreign database, put into ours."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from sqlcipher3 import dbapi2

from kernel.storage.cipher import connect_read_only
from kernel.storage.column_text import to_column
from kernel.storage.database import Database, Row
from kernel.storage.vault_key import VaultKey

_Connect: TypeAlias = Callable[[], AbstractContextManager[Database]]

_PLAIN_HEADER = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class VaultRows:
    """Rows in the order of our columns; a PocketRAG's repositories have no id of ours yet."""

    repositories: Sequence[Row] = field(default=(), repr=False)
    api_keys: Sequence[Row] = field(default=(), repr=False)
    usage: Sequence[Row] = field(default=(), repr=False)
    receipts: Sequence[Row] = field(default=(), repr=False)
    is_pocketrag: bool = False


def is_plain_sqlite(path: Path) -> bool:
    """Whether a file is a SQLite database that nobody has encrypted."""
    try:
        with path.open("rb") as file:
            return file.read(len(_PLAIN_HEADER)) == _PLAIN_HEADER
    except OSError:
        return False


def read_pocketrag(path: Path) -> VaultRows:
    """Read what an earlier PocketRAG kept; rows that cannot be read are left out."""
    with _companions_kept(path):
        connect = partial(_connect_plain, path)
        schema = " ".join(str(sql) for (sql,) in _rows(connect, "SELECT sql FROM sqlite_master"))
        if "repo_name" not in schema and "generation_model" not in schema:
            return VaultRows()
        repositories = _both_ways(connect, "repo_name, repo_path", "repository")
        keys = _both_ways(connect, "model_name, api_key", "generation_model")
    return VaultRows(
        repositories=[_columns((None, *row)) for row in repositories if _are_texts(row)],
        api_keys=[_columns(row) for row in keys if _are_texts(row)],
        is_pocketrag=True,
    )


def read_damaged(path: Path, key: VaultKey) -> VaultRows:
    """Read every row of ours that lies on a whole page; none if the key does not fit."""
    with _companions_kept(path):
        return _read(lambda: closing(connect_read_only(path, key)))


def read_open(database: Database) -> VaultRows:
    """The same of a database that is open and stays so."""
    return _read(lambda: nullcontext(database))


def _read(connect: _Connect) -> VaultRows:
    usage = "repo_id, model_name, day, input_tokens, output_tokens"
    return VaultRows(
        repositories=_both_ways(connect, "id, name, path", "repository"),
        api_keys=_both_ways(connect, "name, api_key", "api_key"),
        usage=_both_ways(connect, usage, "usage"),
        receipts=_both_ways(connect, "receipt", "usage_receipt"),
    )


def put_rows(database: Database, rows: VaultRows) -> None:
    """Add what is not there yet; the transaction is the caller's."""
    for table, values in (
        ("repository (id, name, path)", rows.repositories),
        ("api_key (name, api_key)", rows.api_keys),
        ("usage (repo_id, model_name, day, input_tokens, output_tokens)", rows.usage),
        ("usage_receipt (receipt)", rows.receipts),
    ):
        for row in values:
            places = ", ".join("?" * len(row))
            own = " WHERE ? IN (SELECT id FROM repository)" if table.startswith("usage (") else ""
            database.execute(
                f"INSERT OR IGNORE INTO {table} SELECT {places}{own}",
                [*row, row[0]] if own else row,
            )


def _both_ways(connect: _Connect, columns: str, table: str) -> list[Row]:
    """The rows before the first page that cannot be read, and those after the last such page."""
    found: dict[Row, Row] = {}
    for order in ("ASC", "DESC"):
        statement = f"SELECT rowid, {columns} FROM {table} NOT INDEXED ORDER BY rowid {order}"  # noqa: S608
        for row in _rows(connect, statement):
            found.setdefault(row[:1], row)
    return [found[number][1:] for number in sorted(found)]


def _rows(connect: _Connect, statement: str) -> Iterator[Row]:
    # A connection of its own: after one damaged page SQLCipher reads no other.
    try:
        with connect() as database:
            cursor = database.execute(statement)
            while (row := cursor.fetchone()) is not None:
                yield row
    except (dbapi2.Error, UnicodeDecodeError):
        return


def _connect_plain(path: Path) -> AbstractContextManager[Database]:
    # Read only: the file stays as it was found, its -wal file included.
    database = dbapi2.connect(f"{path.as_uri()}?mode=ro", uri=True)
    database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return closing(database)


@contextmanager
def _companions_kept(path: Path) -> Iterator[None]:
    """Remove the empty -wal and -shm files that reading makes where there were none."""
    names = [path.with_name(path.name + suffix) for suffix in ("-wal", "-shm")]
    absent = [name for name in names if not name.exists()]
    try:
        yield
    finally:
        for name in absent:
            with suppress(OSError):
                name.unlink()


def _are_texts(row: Row) -> bool:
    return all(isinstance(value, str) and value for value in row)


def _columns(row: Row) -> Row:
    return tuple(to_column(value) if isinstance(value, str) else value for value in row)
