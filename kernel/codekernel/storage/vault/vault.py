"""The vault: one encrypted database, opened on first use and repaired when damage is met.

Used by one thread at a time.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TypeVar

from sqlcipher3 import dbapi2

from codekernel.errors import ApiKeyNotFound, StorageError, VaultUnavailable
from codekernel.storage.file_locks import ProcessLock, hold_opening_lock
from codekernel.storage.os_errors import is_disk_full
from codekernel.storage.quarantine import (
    UNREADABLE_LABEL,
    clear_parent_folders,
    list_quarantined_databases,
)
from codekernel.storage.sqlite_files import begin_write, read_file_identity
from codekernel.storage.user_data import UserData, make_private_folder
from codekernel.storage.vault.encrypted_database import (
    DatabaseConnection,
    DatabaseRow,
    explain_sqlcipher_error,
    is_unreadable_error,
)
from codekernel.storage.vault.opening import VaultOpener
from codekernel.storage.vault.recovery import VaultRows, read_vault_rows, write_repo_list

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
        self._file = user_data.database_file
        self._opener = VaultOpener(user_data, environ, may_quarantine, busy_timeout_ms)
        self._identity: tuple[int, int] | None = None
        self._lock = threading.RLock()
        self._connection: DatabaseConnection | None = None

    def query(self, statement: str, *values: object) -> list[DatabaseRow]:
        """Return the rows of one statement; repeat it once after a repair."""

        def read() -> list[DatabaseRow]:
            with self.read_connection() as database:
                return database.execute(statement, values).fetchall()

        return _retry_after_repair(read)

    def write(self, statement: str, *values: object) -> list[DatabaseRow]:
        """Run one statement in a transaction; return the rows it returns."""
        return self.run(lambda database: database.execute(statement, values).fetchall())

    def run(self, work: Callable[[DatabaseConnection], _Result]) -> _Result:
        """Run ``work`` in a transaction; repeat it once after a repair."""

        def write() -> _Result:
            with self.transaction() as database:
                return work(database)

        return _retry_after_repair(write)

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
            if is_disk_full(self._user_data.database_folder):
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
        if self._connection is not None and self._identity != read_file_identity(self._file):
            # Deleted or replaced while open; only this connection still has its rows.
            rescued = read_vault_rows(self._connection)
            self._close_connection()
        if self._connection is None:
            clear_parent_folders(self._file.parent)
            make_private_folder(self._file.parent)
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


def _retry_after_repair(request: Callable[[], _Result]) -> _Result:
    try:
        return request()
    except VaultRepaired:
        return request()


class CommandVault(Vault):
    """Quarantines what cannot be read only while no kernel serves the same userData."""

    def __init__(self, user_data: UserData, environ: Mapping[str, str]) -> None:
        self._kernel_lock = ProcessLock(user_data.lock_file)
        super().__init__(user_data, environ, may_quarantine=self._kernel_lock.try_acquire_or_log)

    def close(self) -> None:
        """Close the database and release the kernel lock."""
        super().close()
        self._kernel_lock.release()
