"""The encrypted database: opened when first needed, used by one thread at a time, never lost."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime

from sqlcipher3 import dbapi2

from kernel.errors import VaultUnavailable
from kernel.storage.cipher import open_database
from kernel.storage.cipher_failures import explain_database, how_to_replace, is_unreadable
from kernel.storage.database import Database
from kernel.storage.failures import explain, is_full
from kernel.storage.opening_lock import opening_lock
from kernel.storage.private_folder import make_private_folder
from kernel.storage.set_aside import is_lone_wal, set_aside
from kernel.storage.user_data import UserData
from kernel.storage.vault_key import VARIABLE, VaultKey, find_or_make_key

_logger = logging.getLogger(__name__)


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
        self._environ = environ
        self._may_set_aside = may_set_aside
        self._busy_timeout_ms = busy_timeout_ms
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
                self._drop()
                raise explain_database(error, self._user_data.database_file) from error
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
        if self._database is None:
            make_private_folder(self._user_data.database_folder)
            with opening_lock(self._user_data.opening_lock_file):
                self._database = self._open()
        return self._database

    def _open(self) -> Database:
        path = self._user_data.database_file
        key = find_or_make_key(self._user_data, self._environ)
        try:
            self._keep_lone_wal()
            return open_database(path, key, busy_timeout_ms=self._busy_timeout_ms)
        except dbapi2.Error as error:
            if is_unreadable(error):
                raise self._unreadable(key) from error
            raise explain_database(error, path) from error
        except OSError as error:
            raise explain(error, path) from error

    def _keep_lone_wal(self) -> None:
        path = self._user_data.database_file
        if is_lone_wal(path):
            aside = set_aside(path, datetime.now(UTC))
            _logger.warning("%s was lost or emptied; what is left of it is %s", path, aside.name)

    def _unreadable(self, key: VaultKey) -> VaultUnavailable:
        path = self._user_data.database_file
        cause = (
            f"The vault {path} cannot be read with the key from {key.origin}:"
            " it is the wrong key, or the file is damaged."
        )
        if not self._may_set_aside():
            return VaultUnavailable(
                f"{cause} Another codekernel holds this folder, so the file stays where it is."
                f" End the other codekernel and try again, or set {VARIABLE} to the right key."
                f" {how_to_replace(path)}"
            )
        aside = set_aside(path, datetime.now(UTC))
        _logger.warning("%s It was set aside as %s.", cause, aside.name)
        return VaultUnavailable(
            f"{cause} It was set aside as {aside.name}, with its -wal and -shm files; nothing was"
            " overwritten, and the next request starts an empty vault. To go back: stop codekernel,"
            f" set {VARIABLE} to the right key (or put the right key file back), move the new"
            f" {path.name} away, and rename {aside.name} to {path.name} (and {aside.name}-wal,"
            f" if it is there, to {path.name}-wal)."
        )
