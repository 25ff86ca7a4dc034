"""The vault: one encrypted database, opened on first use and repaired when damage is met.

Its tables: API keys, registered repositories, token usage. Used by one thread at a time.
"""

import json
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TypeVar

from sqlcipher3 import dbapi2

from codekernel.domain.index import Repo
from codekernel.errors import (
    ApiKeyNotFound,
    RepoNameExist,
    RepoNotFound,
    StorageError,
    VaultUnavailable,
)
from codekernel.storage.engines import (
    begin_write,
    decode_column,
    encode_column,
    is_disk_full,
    read_file_identity,
)
from codekernel.storage.process_lock import ProcessLock, hold_opening_lock
from codekernel.storage.quarantine import (
    UNREADABLE_LABEL,
    clear_parent_folders,
    list_quarantined_databases,
)
from codekernel.storage.safe_files import make_private_folder
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.encrypted_database import (
    DatabaseConnection,
    DatabaseRow,
    explain_sqlcipher_error,
    is_unreadable_error,
)
from codekernel.storage.vault.opening import (
    VaultOpener,
    VaultRows,
    read_vault_rows,
    write_repo_list,
)

_logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class VaultRepaired(VaultUnavailable):
    """Damage was met and quarantined; the same request finds a vault that works."""


class Vault:
    """Everything secret or registered; ``may_quarantine`` is true in the kernel that owns userData.

    After any error the connection is dropped and the next request opens a new one, so that no
    connection in an unknown state is used.
    """

    def __init__(
        self,
        user_data: UserData,
        environ: Mapping[str, str],
        *,
        may_quarantine: Callable[[], bool],
        busy_timeout_ms: int = 5000,
    ) -> None:
        self._user_data = user_data
        self._file, self._folder = user_data.database_file, user_data.database_folder
        self._opener = VaultOpener(user_data, environ, may_quarantine, busy_timeout_ms)
        self._identity: tuple[int, int] | None = None
        self._lock = threading.RLock()
        self._connection: DatabaseConnection | None = None

    def query(self, statement: str, *values: object) -> list[DatabaseRow]:
        """Return the rows of one statement; repeat it once after a repair."""
        return _run_repairing(
            self.read_connection, lambda database: database.execute(statement, values).fetchall()
        )

    def write(self, statement: str, *values: object) -> list[DatabaseRow]:
        """Run one statement in a transaction; return the rows it returns."""
        return self.run(lambda database: database.execute(statement, values).fetchall())

    def run(self, work: Callable[[DatabaseConnection], _Result]) -> _Result:
        """Run ``work`` in a transaction; repeat it once after a repair."""
        return _run_repairing(self.transaction, work)

    @contextmanager
    def transaction(self) -> Iterator[DatabaseConnection]:
        """Read and write; leaving the block commits, an exception rolls back."""
        with self.read_connection() as database, begin_write(database):
            yield database

    @contextmanager
    def read_connection(self) -> Iterator[DatabaseConnection]:
        """Read, without waiting for another process that writes.

        No transaction around it: every statement gives up the interpreter lock, and beside a busy
        thread each time costs a switch interval.
        """
        with self._lock:
            database = self._ensure_open()
            try:
                yield database
            except dbapi2.Error as error:
                if is_unreadable_error(error):
                    raise self._repair(error) from error
                self._close_connection()
                raise explain_sqlcipher_error(error, self._file) from error
            if is_disk_full(self._folder):
                self._close_connection()  # a full disk opens it exclusively

    def build_key_not_found(self, name: str) -> ApiKeyNotFound:
        """Return the error for a missing API key; it names a quarantined vault that may have it."""
        reason = f"There is no API key for {name!r}: enter it in the settings."
        if lost := list_quarantined_databases(self._file, UNREADABLE_LABEL):
            reason += (
                f" An earlier vault could not be read and was set aside as {lost[-1].name}, so its"
                " keys have to be entered again."
            )
        return ApiKeyNotFound(reason)

    def save_repo_list(self) -> None:
        """Write the list of repositories beside the vault, after a change.

        A failure is ignored: the vault has them, and its next opening writes the list.
        """
        with suppress(StorageError), self.read_connection() as database:
            write_repo_list(self._user_data.repo_list_file, database)

    def close(self) -> None:
        """Close the database; a later request opens it again."""
        with self._lock:
            self._close_connection()

    def _close_connection(self) -> None:
        database, self._connection = self._connection, None
        if database is not None:
            with suppress(dbapi2.Error):
                database.close()

    def _ensure_open(self) -> DatabaseConnection:
        rescued: VaultRows | None = None
        opened = self._connection
        if opened is not None and self._identity != read_file_identity(self._file):
            # Deleted or replaced while open; only this connection still has its rows.
            rescued = read_vault_rows(lambda: nullcontext(opened))
            self._close_connection()
        if self._connection is None:
            clear_parent_folders(self._folder)
            make_private_folder(self._folder)
            with hold_opening_lock(self._user_data.opening_lock_file):
                self._connection = self._opener.open(rescued)
            self._identity = read_file_identity(self._file)
        return self._connection

    def _repair(self, error: dbapi2.Error) -> VaultUnavailable:
        """Quarantine a damaged database; raises VaultUnavailable if this process may not."""
        cause = f"The vault {self._file} is damaged and part of it cannot be read."
        self._close_connection()
        with hold_opening_lock(self._user_data.opening_lock_file):
            # Another process may have done it, or put a new one there, while this one waited.
            if self._identity == read_file_identity(self._file):
                self._opener.quarantine_damaged(cause)
        _logger.info("damage was met in the vault (%s)", type(error).__name__)
        return VaultRepaired(f"{cause} It was set aside and a new one holds what could be read.")


def _run_repairing(
    connect: Callable[[], AbstractContextManager[DatabaseConnection]],
    work: Callable[[DatabaseConnection], _Result],
) -> _Result:
    try:
        with connect() as database:
            return work(database)
    except VaultRepaired:
        with connect() as database:
            return work(database)


class CommandVault(Vault):
    """Quarantines what cannot be read only while no kernel serves the same userData."""

    def __init__(self, user_data: UserData, environ: Mapping[str, str]) -> None:
        self._kernel_lock = ProcessLock(user_data.lock_file)
        super().__init__(user_data, environ, may_quarantine=self._kernel_lock.try_acquire_or_log)

    def close(self) -> None:
        """Close the database and release the kernel lock."""
        super().close()
        self._kernel_lock.release()


# Of a vault whose usage was added to this one; those of turns begin with a number.
MERGE_RECEIPT_PREFIX = "vault of "

_REPOSITORIES = "SELECT id, name, path FROM repository"


class ApiKeys:
    """The API keys of one vault; they leave it only through ``get``."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def set(self, name: str, key: str) -> None:
        """Save ``key`` under ``name``, in place of an earlier one; an empty key deletes it."""
        if not key:
            self._vault.write("DELETE FROM api_key WHERE name = ?", encode_column(name))
            return
        self._vault.write(
            "INSERT INTO api_key (name, api_key) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET api_key = excluded.api_key",
            encode_column(name),
            encode_column(key),
        )

    def get(self, name: str) -> str:
        """Return the key saved under ``name``. Raises ApiKeyNotFound."""
        key = self._read(name)
        if key is None:
            raise self._vault.build_key_not_found(name)
        return key

    def has(self, name: str) -> bool:
        """Return whether a key is saved under ``name``."""
        return self._read(name) is not None

    def _read(self, name: str) -> str | None:
        rows = self._vault.query("SELECT api_key FROM api_key WHERE name = ?", encode_column(name))
        return decode_column(rows[0][0]) if rows else None


class RepoRegistry:
    """The repositories of one vault; names are unique, ids are never used twice.

    ``on_changed`` is called after one was added or removed.
    """

    def __init__(self, vault: Vault, on_changed: Callable[[], None] = lambda: None) -> None:
        self._vault = vault
        self._on_changed = on_changed

    def list_all(self) -> list[Repo]:
        """Return every repository, in the order of registration."""
        return [_parse_repo_row(row) for row in self._vault.query(f"{_REPOSITORIES} ORDER BY id")]

    def find(self, name: str) -> Repo:
        """Return the repository registered under ``name``. Raises RepoNotFound."""
        rows = self._vault.query(f"{_REPOSITORIES} WHERE name = ?", encode_column(name))
        return _require_repo(rows, name)

    def add(self, name: str, path: Path) -> Repo:
        """Register ``path`` under ``name``. Raises RepoNameExist."""
        rows = self._vault.write(
            "INSERT INTO repository (name, path) VALUES (?, ?)"
            " ON CONFLICT (name) DO NOTHING RETURNING id, name, path",
            encode_column(name),
            encode_column(str(path)),
        )
        if not rows:
            raise RepoNameExist(
                f"A repository named {name!r} is already registered:"
                " remove it first, or choose a folder with another name."
            )
        self._vault.save_repo_list()
        self._on_changed()
        return _parse_repo_row(rows[0])

    def remove(self, name: str) -> Repo:
        """Delete the repository and its usage; its folder is not touched. Raises RepoNotFound."""
        rows = self._vault.write(
            "DELETE FROM repository WHERE name = ? RETURNING id, name, path", encode_column(name)
        )
        self._vault.save_repo_list()
        self._on_changed()
        return _require_repo(rows, name)


def _require_repo(rows: list[DatabaseRow], name: str) -> Repo:
    if not rows:
        raise RepoNotFound(f"No repository named {name!r} is registered: create it first.")
    return _parse_repo_row(rows[0])


def _parse_repo_row(row: DatabaseRow) -> Repo:
    number, name, path = row
    return Repo(id=number, name=decode_column(name), path=Path(decode_column(path)))


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens of one model, summed; ``model_name`` is the name the endpoint knows."""

    model_name: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class DayUsage:
    """Tokens of one model on one day, which is written as 2026-01-31."""

    model_name: str
    day: str
    input_tokens: int
    output_tokens: int


class UsageLedger:
    """The token usage saved in one vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def record(
        self, repo_id: int, model_name: str, day: date, input_tokens: int, output_tokens: int
    ) -> None:
        """Add to the usage of a model on a day; nothing if the repository was removed."""
        usage = DayUsage(model_name, day.isoformat(), input_tokens, output_tokens)
        self._vault.run(lambda database: add_usage(database, repo_id, usage))

    def record_once(self, receipt: str, repo_id: int, usage: DayUsage) -> None:
        """Add as ``record`` does, unless something was added under this receipt before.

        So it can be repeated after a crash.
        """

        def add(database: DatabaseConnection) -> None:
            if add_receipt(database, receipt):
                add_usage(database, repo_id, usage)

        self._vault.run(add)

    def delete_receipts(self, kept: Collection[str]) -> None:
        """Delete the receipts of turns that will not be used again."""
        self._vault.write(
            "DELETE FROM usage_receipt WHERE receipt NOT IN (SELECT value FROM json_each(?1))"
            " AND substr(receipt, 1, length(?2)) != ?2",
            json.dumps(list(kept)),
            MERGE_RECEIPT_PREFIX,
        )

    def sum_by_model(self, repo_id: int) -> list[ModelUsage]:
        """Return the sums over all days, one per model, by model name."""
        rows = self._vault.query(
            "SELECT model_name, SUM(input_tokens), SUM(output_tokens) FROM usage"
            " WHERE repo_id = ? GROUP BY model_name ORDER BY model_name",
            repo_id,
        )
        return [ModelUsage(decode_column(name), *counts) for name, *counts in rows]

    def sum_by_repo(self) -> list[tuple[str, ModelUsage]]:
        """Return the sums over all days, one per repository and model, by name."""
        rows = self._vault.query(
            "SELECT name, model_name, SUM(input_tokens), SUM(output_tokens) FROM usage"
            " JOIN repository ON id = repo_id GROUP BY 1, 2 ORDER BY 1, 2"
        )
        return [(decode_column(repo), ModelUsage(decode_column(it), *n)) for repo, it, *n in rows]

    def list_by_day(self, repo_id: int) -> list[DayUsage]:
        """Return what each model used on each day, by model name and day."""
        rows = self._vault.query(
            "SELECT model_name, day, input_tokens, output_tokens FROM usage"
            " WHERE repo_id = ? ORDER BY model_name, day",
            repo_id,
        )
        return [DayUsage(decode_column(name), *others) for name, *others in rows]


def add_receipt(database: DatabaseConnection, receipt: str) -> bool:
    """Record that something is added to the usage; false if it was before."""
    insert = "INSERT INTO usage_receipt (receipt) VALUES (?)"
    query = f"{insert} ON CONFLICT (receipt) DO NOTHING RETURNING receipt"
    return database.execute(query, (receipt,)).fetchone() is not None


def add_usage(database: DatabaseConnection, repo_id: int, usage: DayUsage) -> None:
    """Add to the usage of a model on a day; nothing if the repository was removed."""
    name, read, written = encode_column(usage.model_name), usage.input_tokens, usage.output_tokens
    database.execute(
        "INSERT INTO usage (repo_id, model_name, day, input_tokens, output_tokens)"
        " SELECT id, ?, ?, ?, ? FROM repository WHERE id = ?"
        " ON CONFLICT (repo_id, model_name, day) DO UPDATE SET"
        " input_tokens = input_tokens + excluded.input_tokens,"
        " output_tokens = output_tokens + excluded.output_tokens",
        (name, usage.day, read, written, repo_id),
    )
