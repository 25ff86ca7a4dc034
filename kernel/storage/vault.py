"""The encrypted database: opened when first needed, used by one thread at a time, never lost."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from sqlcipher3 import dbapi2

from kernel.errors import ApiKeyNotFound, StorageError, VaultUnavailable
from kernel.storage.cipher_failures import explain_database, is_unreadable
from kernel.storage.database import Database
from kernel.storage.failures import is_full
from kernel.storage.opening_lock import opening_lock
from kernel.storage.private_folder import make_private_folder
from kernel.storage.repo_list_file import write_repo_list
from kernel.storage.set_aside import UNREADABLE, clear_folder_name, databases_aside
from kernel.storage.user_data import UserData
from kernel.storage.vault_opening import VaultOpening
from kernel.storage.vault_rows import VaultRows, read_open

_logger = logging.getLogger(__name__)

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class VaultHealed(VaultUnavailable):
    """Damage was met and set aside; the same request finds a vault that works."""


def again_after_healing(method: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Ask once more when the first attempt met damage; for methods that are one request."""

    @wraps(method)
    def asked(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        try:
            return method(*args, **kwargs)
        except VaultHealed:
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
        may_set_aside: Callable[[], bool],
        busy_timeout_ms: int = 5000,
    ) -> None:
        self._user_data = user_data
        self._file = user_data.database_file
        self._opening = VaultOpening(user_data, environ, may_set_aside, busy_timeout_ms)
        self._identity: tuple[int, int] | None = None
        self._lock = threading.RLock()
        self._database: Database | None = None

    def transaction(self) -> AbstractContextManager[Database]:
        """Read and write; leaving the block commits, an exception rolls back."""
        return self._transaction()

    def reading(self) -> AbstractContextManager[Database]:
        """Read with a statement, without waiting for another process that writes.

        No transaction around it: every statement gives up the interpreter lock, and beside a busy
        thread each time costs a switch interval.
        """
        return self._work()

    def key_not_found(self, name: str) -> ApiKeyNotFound:
        """Why there is no API key under ``name``, as far as the vault's own story tells."""
        reason = f"There is no API key for {name!r}: enter it in the settings."
        if lost := databases_aside(self._file, UNREADABLE):
            reason += (
                f" An earlier vault could not be read and was set aside as {lost[-1].name}, so its"
                " keys have to be entered again."
            )
        return ApiKeyNotFound(reason)

    def keep_repo_list(self) -> None:
        """Write the list of repositories beside the vault, after a change.

        Nothing fails for it: the vault has them, and its next opening writes the list.
        """
        with suppress(StorageError), self._work() as database:
            write_repo_list(self._user_data.repo_list_file, database)

    def close(self) -> None:
        """Let go of the file; a later request opens it again."""
        with self._lock:
            self._drop()

    @contextmanager
    def _transaction(self) -> Iterator[Database]:
        with self._work() as database:
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
    def _work(self) -> Iterator[Database]:
        with self._lock:
            database = self._opened()
            try:
                yield database
            except dbapi2.Error as error:
                if is_unreadable(error):
                    raise self._heal(error) from error
                self._drop()
                raise explain_database(error, self._file) from error
            if is_full(self._user_data.database_folder):
                self._drop()  # opened as a full disk allows, it is kept from other processes

    def _roll_back(self, database: Database) -> None:
        try:
            database.execute("ROLLBACK")
        except dbapi2.Error:
            self._drop()  # closing rolls back as well

    def _drop(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(dbapi2.Error):
                database.close()

    def _opened(self) -> Database:
        rescued: VaultRows | None = None
        if self._database is not None and self._identity != _identity(self._file):
            # Deleted or replaced under our feet; what is open is the last that knows its rows.
            rescued = read_open(self._database)
            self._drop()
        if self._database is None:
            clear_folder_name(self._file.parent)
            make_private_folder(self._file.parent)
            with opening_lock(self._user_data.opening_lock_file):
                self._database = self._opening.open(rescued)
            self._identity = _identity(self._file)
        return self._database

    def _heal(self, error: dbapi2.Error) -> VaultUnavailable:
        """Set a damaged database aside; raises VaultUnavailable if that is not ours to do."""
        cause = f"The vault {self._file} is damaged and part of it cannot be read."
        self._drop()
        with opening_lock(self._user_data.opening_lock_file):
            # Another process may have done it, or put a new one there, while this one waited.
            if self._identity == _identity(self._file):
                self._opening.set_aside_damaged(cause)
        _logger.info("damage was met in the vault (%s)", type(error).__name__)
        return VaultHealed(f"{cause} It was set aside and a new one holds what could be read.")


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name now."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
