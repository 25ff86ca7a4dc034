"""The vault: one encrypted database, opened on first use, used by one thread at a time.

Repaired when damage is met.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from sqlcipher3 import dbapi2

from codekernel.errors import ApiKeyNotFound, StorageError, VaultUnavailable
from codekernel.storage.file_locks import ProcessLock, hold_opening_lock
from codekernel.storage.os_errors import is_disk_full
from codekernel.storage.quarantine import (
    UNREADABLE_LABEL,
    clear_folder_path,
    list_quarantined_databases,
)
from codekernel.storage.user_data import UserData, make_private_folder
from codekernel.storage.vault.encrypted_database import (
    DatabaseConnection,
    explain_sqlcipher_error,
    is_unreadable_error,
)
from codekernel.storage.vault.opening import VaultOpener
from codekernel.storage.vault.recovery import VaultRows, read_vault_rows, write_repo_list

_logger = logging.getLogger(__name__)

_Params = ParamSpec("_Params")

_Result = TypeVar("_Result")


class VaultRepaired(VaultUnavailable):
    """Damage was met and set aside; the same request finds a vault that works."""


def retry_after_repair(method: Callable[_Params, _Result]) -> Callable[_Params, _Result]:
    """Ask once more when the first attempt met damage; for methods that are one request."""

    @wraps(method)
    def asked(*args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        try:
            return method(*args, **kwargs)
        except VaultRepaired:
            return method(*args, **kwargs)

    return asked


class Vault:
    """Everything secret or registered; ``may_set_aside`` is true in the kernel that owns userData.

    After any error the connection is dropped and the next request opens a new one, so nothing
    has to be repaired in a connection whose state is in doubt.
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

    def transaction(self) -> AbstractContextManager[DatabaseConnection]:
        """Read and write; leaving the block commits, an exception rolls back."""
        return self._transaction()

    def read_connection(self) -> AbstractContextManager[DatabaseConnection]:
        """Read with a statement, without waiting for another process that writes.

        No transaction around it: every statement gives up the interpreter lock, and beside a busy
        thread each time costs a switch interval.
        """
        return self._use_connection()

    def build_key_not_found(self, name: str) -> ApiKeyNotFound:
        """Why there is no API key under ``name``, as far as the vault's own story tells."""
        reason = f"There is no API key for {name!r}: enter it in the settings."
        if lost := list_quarantined_databases(self._file, UNREADABLE_LABEL):
            reason += (
                f" An earlier vault could not be read and was set aside as {lost[-1].name}, so its"
                " keys have to be entered again."
            )
        return ApiKeyNotFound(reason)

    def save_repo_list(self) -> None:
        """Write the list of repositories beside the vault, after a change.

        Nothing fails for it: the vault has them, and its next opening writes the list.
        """
        with suppress(StorageError), self._use_connection() as database:
            write_repo_list(self._user_data.repo_list_file, database)

    def close(self) -> None:
        """Let go of the file; a later request opens it again."""
        with self._lock:
            self._close_connection()

    @contextmanager
    def _transaction(self) -> Iterator[DatabaseConnection]:
        with self._use_connection() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except dbapi2.Error:
                raise
            except BaseException:
                self._roll_back(database)
                raise

    @contextmanager
    def _use_connection(self) -> Iterator[DatabaseConnection]:
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

    def _roll_back(self, database: DatabaseConnection) -> None:
        try:
            database.execute("ROLLBACK")
        except dbapi2.Error:
            self._close_connection()  # closing rolls back as well

    def _close_connection(self) -> None:
        database, self._connection = self._connection, None
        if database is not None:
            with suppress(dbapi2.Error):
                database.close()

    def _ensure_open(self) -> DatabaseConnection:
        rescued: VaultRows | None = None
        if self._connection is not None and self._identity != _read_file_identity(self._file):
            # Deleted or replaced under our feet; what is open is the last that knows its rows.
            rescued = read_vault_rows(self._connection)
            self._close_connection()
        if self._connection is None:
            clear_folder_path(self._file.parent)
            make_private_folder(self._file.parent)
            with hold_opening_lock(self._user_data.opening_lock_file):
                self._connection = self._opener.open(rescued)
            self._identity = _read_file_identity(self._file)
        return self._connection

    def _repair(self, error: dbapi2.Error) -> VaultUnavailable:
        """Set a damaged database aside; raises VaultUnavailable if that is not ours to do."""
        cause = f"The vault {self._file} is damaged and part of it cannot be read."
        self._close_connection()
        with hold_opening_lock(self._user_data.opening_lock_file):
            # Another process may have done it, or put a new one there, while this one waited.
            if self._identity == _read_file_identity(self._file):
                self._opener.quarantine_damaged(cause)
        _logger.info("damage was met in the vault (%s)", type(error).__name__)
        return VaultRepaired(f"{cause} It was set aside and a new one holds what could be read.")


def _read_file_identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name now."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class CommandVault(Vault):
    """Sets aside what cannot be read only while no kernel serves the same userData."""

    def __init__(self, user_data: UserData, environ: Mapping[str, str]) -> None:
        self._kernel_lock = ProcessLock(user_data.lock_file)
        super().__init__(user_data, environ, may_quarantine=self._kernel_lock.try_acquire_or_log)

    def close(self) -> None:
        """Let go of the file, and of the right to move it."""
        super().close()
        self._kernel_lock.release()
