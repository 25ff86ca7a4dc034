"""Open or create the vault, and recover what it should hold.

Quarantine what cannot be used, import the rows that can still be read of a damaged or foreign
(PocketRAG) database, and keep a plain list of repositories beside the vault.
"""

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from sqlcipher3 import dbapi2

from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.engines import begin_write, close_on_error, decode_column, encode_column
from codekernel.storage.quarantine import (
    PENDING_LABEL,
    POCKETRAG_LABEL,
    UNREADABLE_LABEL,
    has_orphan_wal,
    is_irregular,
    list_irregular_entries,
    list_quarantined_databases,
    quarantine_database,
    quarantine_user_file,
    rename_pending_database,
)
from codekernel.storage.safe_files import (
    add_suffix,
    explain_os_error,
    read_size,
    write_bytes_atomically,
)
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.encrypted_database import (
    DatabaseConnection,
    DatabaseRow,
    connect_read_only,
    describe_replacement,
    explain_sqlcipher_error,
    is_unreadable_error,
    open_encrypted_database,
)
from codekernel.storage.vault.vault_key import (
    VAULT_KEY_VARIABLE,
    KeySourceDamaged,
    VaultKey,
    VaultKeyLost,
    find_or_create_key,
)

_logger = logging.getLogger(__name__)

_OpenConnection: TypeAlias = Callable[[], AbstractContextManager[DatabaseConnection]]

_SQLITE_HEADER = b"SQLite format 3\0"

# The columns of each table; usage refers to repository.
_COLUMNS = {
    "repository": "id, name, path",
    "api_key": "name, api_key",
    "usage": "repo_id, model_name, day, input_tokens, output_tokens",
    "usage_receipt": "receipt",
}

MAX_REPO_LIST_BYTES = 16 * 1024 * 1024

# A damaged number must not use up the ids that SQLite can give.
MAX_REPO_ID = 2**31


@dataclass(frozen=True, slots=True)
class VaultRows:
    """Rows of each table in the order of its columns; PocketRAG's repositories have no id yet."""

    tables: Mapping[str, Sequence[DatabaseRow]] = field(default_factory=dict, repr=False)
    is_pocketrag: bool = False


@dataclass(frozen=True, slots=True)
class VaultOpener:
    """Opens the vault; ``may_quarantine`` is called only when something is damaged."""

    user_data: UserData
    environ: Mapping[str, str]
    may_quarantine: Callable[[], bool]
    busy_timeout_ms: int

    def open(self, rescued: VaultRows | None = None) -> DatabaseConnection:
        """Open or make the vault; insert the ``rescued`` rows of the one before it into a new one.

        Raises StorageError where it cannot be opened, or not by this process.
        """
        try:
            self._quarantine_misplaced()
            key = self._find_key()
            try:
                return self._open_filled(key, rescued)
            except dbapi2.Error as error:
                if not is_unreadable_error(error):
                    raise
            self.quarantine_damaged(
                f"The vault {self.user_data.database_file} cannot be read with the key from"
                f" {key.origin}: it is the wrong key, or the file is damaged."
            )
            return self._open_filled(key, rescued)
        except dbapi2.Error as error:
            raise explain_sqlcipher_error(error, self.user_data.database_file) from error
        except OSError as error:
            raise explain_os_error(error, self.user_data.database_file) from error

    def quarantine_damaged(self, cause: str) -> None:
        """Quarantine the database; opening a new one imports what can still be read of it.

        Raises VaultUnavailable if this process may not move the file.
        """
        self._require_permission(cause)
        aside = quarantine_database(self.user_data.database_file, PENDING_LABEL)
        _logger.warning("%s It is quarantined as %s.", cause, aside.name)

    def _require_permission(self, cause: str) -> None:
        if not self.may_quarantine():
            raise VaultUnavailable(
                f"{cause} It stays where it is, because this command only looks, or because"
                " another codekernel holds this folder. Start codekernel (or end the other one and"
                " start it again): it sets aside what cannot be used, keeps what can be read, and"
                f" goes on. {describe_replacement(self.user_data.database_file)}"
            )

    def _quarantine_misplaced(self) -> None:
        path = self.user_data.database_file
        others = [self.user_data.key_file, self.user_data.vault_id_file]
        for irregular in [*list_irregular_entries(path), *filter(is_irregular, others)]:
            self._quarantine(irregular, f"{irregular} is not a file.")
        for closed in [each for each in (path, *others) if _is_inaccessible(each)]:
            self._quarantine(closed, f"{closed} cannot be read by this account.")
        if is_plain_sqlite(path):
            self.quarantine_damaged(f"{path} is not encrypted: it is not a vault of codekernel.")
        elif has_orphan_wal(path):
            aside = quarantine_database(path)
            _logger.warning("%s was lost or emptied; what is left of it is %s", path, aside.name)

    def _quarantine(self, path: Path, cause: str) -> None:
        self._require_permission(cause)
        quarantine_user_file(path)

    def _find_key(self) -> VaultKey:
        while True:
            try:
                return find_or_create_key(self.user_data, self.environ)
            except KeySourceDamaged as damage:
                self._quarantine(damage.path, str(damage))
            except VaultKeyLost as loss:
                self.quarantine_damaged(str(loss))

    def _open_filled(self, key: VaultKey, rescued: VaultRows | None) -> DatabaseConnection:
        """Return the open database with all rows it should hold; raises ``dbapi2.Error``."""
        path = self.user_data.database_file
        was_unused = read_size(path) == 0
        database = open_encrypted_database(path, key, busy_timeout_ms=self.busy_timeout_ms)
        with close_on_error(database):
            self._import_pending(database, key)
            if was_unused:
                self._restore_rows(database, rescued or VaultRows())
            write_repo_list(self.user_data.repo_list_file, database)
        return database

    def _import_pending(self, database: DatabaseConnection, key: VaultKey) -> None:
        path = self.user_data.database_file
        for pending in list_quarantined_databases(path, PENDING_LABEL):
            plain = is_plain_sqlite(pending)
            rows = read_pocketrag(pending) if plain else salvage_rows(pending, key)
            insert_rows(database, rows)
            aside = rename_pending_database(
                pending, POCKETRAG_LABEL if rows.is_pocketrag else UNREADABLE_LABEL
            )
            _logger.warning("%s", _describe_import(aside, rows))

    def _restore_rows(self, database: DatabaseConnection, rescued: VaultRows) -> None:
        listed = read_repo_list(self.user_data.repo_list_file)
        insert_rows(database, rescued)
        insert_rows(database, VaultRows({"repository": listed}))
        if listed and not rescued.tables.get("repository"):
            _logger.warning(
                "the vault is new, but %s is of an earlier one: its repositories are back; API"
                " keys that are missing have to be entered again",
                self.user_data.repo_list_file.name,
            )


def _is_inaccessible(path: Path) -> bool:
    """Return whether a file cannot be read even after its owner was given the right to."""
    if not path.is_file() or os.access(path, os.R_OK):
        return False
    with suppress(OSError):
        path.chmod(0o600)
    return not os.access(path, os.R_OK)


def _describe_import(aside: Path, rows: VaultRows) -> str:
    repositories, keys = (len(rows.tables.get(table, ())) for table in ("repository", "api_key"))
    if rows.is_pocketrag:
        return (
            f"{repositories} repositories and {keys} API keys of an earlier PocketRAG were taken"
            f" over. Its database is kept as {aside.name}, where the keys stand in plain text: only"
            " its owner can read it; delete it once everything is as it should be."
        )
    return (
        f"{repositories} repositories and {keys} API keys could be read from the database that is"
        f" now {aside.name}. Keys that are missing have to be entered again. Nothing was"
        f" overwritten: with the right key in {VAULT_KEY_VARIABLE}, or in its key file, that file"
        " can be renamed back."
    )


def list_vault_notes(user_data: UserData) -> list[str]:
    """Return what a user should know of the quarantined databases; change nothing."""
    path = user_data.database_file
    unreadable = (
        "could not be read and was set aside; API keys"
        " entered before may have to be entered again. Delete it when it is not needed any more."
    )
    imported = (
        "is an earlier PocketRAG's database, taken over; its"
        " API keys stand there in plain text, readable by its owner alone. Delete it once"
        " everything is as it should be."
    )
    notes = [
        f"vault: {aside.name} in {aside.parent} {note}"
        for label, note in (
            (UNREADABLE_LABEL, unreadable),
            (PENDING_LABEL, unreadable),
            (POCKETRAG_LABEL, imported),
        )
        for aside in list_quarantined_databases(path, label)
    ]
    return notes + [
        f"vault: {aside.name} was damaged and set aside; the vault's key may be lost with it"
        for source in (user_data.key_file, user_data.vault_id_file)
        for aside in list_quarantined_databases(source, UNREADABLE_LABEL)
    ]


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
        schema = str([*_iterate_rows(connect, "SELECT sql FROM sqlite_master")])
        if "repo_name" not in schema and "generation_model" not in schema:
            return VaultRows()
        repositories = _read_both_directions(connect, "NULL, repo_name, repo_path", "repository")
        keys = _read_both_directions(connect, "model_name, api_key", "generation_model")
    tables = {"repository": _encode_texts(repositories), "api_key": _encode_texts(keys)}
    return VaultRows(tables, is_pocketrag=True)


def salvage_rows(path: Path, key: VaultKey) -> VaultRows:
    """Read every row that lies on an intact page; none if the key does not fit."""
    with _remove_new_companions(path):
        return read_vault_rows(lambda: closing(connect_read_only(path, key)))


def read_vault_rows(connect: _OpenConnection) -> VaultRows:
    """Read every row of a database that can be read."""
    tables = _COLUMNS.items()
    return VaultRows({table: _read_both_directions(connect, row, table) for table, row in tables})


def insert_rows(database: DatabaseConnection, rows: VaultRows) -> None:
    """Insert, in one transaction, the rows that are not there yet."""
    with begin_write(database):
        for table, columns in _COLUMNS.items():
            has_repo = table == "usage"
            condition = " WHERE ? IN (SELECT id FROM repository)" if has_repo else ""
            places = ", ".join("?" * len(columns.split(",")))
            for row in rows.tables.get(table, ()):
                database.execute(
                    f"INSERT OR IGNORE INTO {table} ({columns}) SELECT {places}{condition}",
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


def _encode_texts(rows: Iterable[DatabaseRow]) -> list[DatabaseRow]:
    """Return the rows whose last two columns are texts, as they are stored."""
    return [
        (*row[:-2], *map(encode_column, row[-2:]))
        for row in rows
        if all(isinstance(value, str) and value for value in row[-2:])
    ]


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
    absent = [name for end in ("-wal", "-shm") if not (name := add_suffix(path, end)).exists()]
    try:
        yield
    finally:
        for name in absent:
            with suppress(OSError):
                name.unlink()


def read_repo_list(path: Path) -> list[DatabaseRow]:
    """Return the rows of the table ``repository``; none if the file is missing or damaged."""
    if is_irregular(path) or not path.exists() or read_size(path) > MAX_REPO_LIST_BYTES:
        return []
    named, is_intact = [], False
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        document = json.loads(path.read_bytes())
        entries = document["repositories"]
        named = [(each["id"], each["name"], each["path"]) for each in entries]
        is_intact = document["sha256"] == _compute_checksum(entries)
    if not is_intact:
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
        if (rows or path.exists()) and not (path.exists() and path.read_bytes() == content):
            write_bytes_atomically(path, content)
    except (OSError, StorageError) as error:
        _logger.warning("the list of repositories could not be written beside the vault: %s", error)


def _compute_checksum(entries: object) -> str:
    return sha256(json.dumps(entries).encode()).hexdigest()
