"""Opening the vault whatever lies in its place: what cannot be used is quarantined, not obeyed.

What can still be read from a quarantined database is taken over, a PocketRAG's as well as a damaged
one of ours, and the repositories come back from the list beside it. A kill at any point leaves a
database named ``pending``, and the next opening goes on with it. Call only while holding the
opening lock.
"""

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlcipher3 import dbapi2

from kernel.errors import VaultUnavailable
from kernel.storage.cipher import is_unused, open_database
from kernel.storage.cipher_failures import explain_database, how_to_replace, is_unreadable
from kernel.storage.database import Database
from kernel.storage.failures import explain
from kernel.storage.key_file import KeySourceDamaged
from kernel.storage.quarantine import quarantine_user_file
from kernel.storage.repo_list_file import read_repo_list, write_repo_list
from kernel.storage.set_aside import (
    PENDING,
    POCKETRAG,
    UNREADABLE,
    databases_aside,
    is_lone_wal,
    is_odd,
    odd_entries,
    set_aside,
    settle_pending,
)
from kernel.storage.user_data import UserData
from kernel.storage.vault_key import VARIABLE, VaultKey, VaultKeyLost, find_or_make_key
from kernel.storage.vault_rows import (
    VaultRows,
    is_plain_sqlite,
    put_rows,
    read_damaged,
    read_pocketrag,
)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VaultOpening:
    """How one process opens the vault; ``may_set_aside`` is asked only when something is wrong."""

    user_data: UserData
    environ: Mapping[str, str]
    may_set_aside: Callable[[], bool]
    busy_timeout_ms: int

    def open(self, rescued: VaultRows | None = None) -> Database:
        """Open or make the vault; a new one is given the ``rescued`` rows of the one before it.

        Raises StorageError where nothing can be done about it, or not by this process.
        """
        try:
            self._clear_the_way()
            key = self._key()
            try:
                return self._ready(key, rescued)
            except dbapi2.Error as error:
                if not is_unreadable(error):
                    raise
            self.set_aside_damaged(
                f"The vault {self.user_data.database_file} cannot be read with the key from"
                f" {key.origin}: it is the wrong key, or the file is damaged."
            )
            return self._ready(key, rescued)
        except dbapi2.Error as error:
            raise explain_database(error, self.user_data.database_file) from error
        except OSError as error:
            raise explain(error, self.user_data.database_file) from error

    def set_aside_damaged(self, cause: str) -> None:
        """Make room for a new vault; its opening takes over what can still be read of this one.

        Raises VaultUnavailable if the file may not be moved.
        """
        path = self.user_data.database_file
        self._demand_right(cause)
        aside = set_aside(path, datetime.now(UTC), PENDING)
        _logger.warning("%s It is set aside as %s.", cause, aside.name)

    def _demand_right(self, cause: str) -> None:
        if not self.may_set_aside():
            raise VaultUnavailable(
                f"{cause} It stays where it is, because this command only looks, or because"
                " another codekernel holds this folder. Start codekernel (or end the other one and"
                " start it again): it sets aside what cannot be used, keeps what can be read, and"
                f" goes on. {how_to_replace(self.user_data.database_file)}"
            )

    def _clear_the_way(self) -> None:
        path = self.user_data.database_file
        others = [self.user_data.key_file, self.user_data.vault_id_file]
        for odd in [*odd_entries(path), *filter(is_odd, others)]:
            self._demand_right(f"{odd} is not a file.")
            quarantine_user_file(odd)
        for closed in [each for each in (path, *others) if _is_closed(each)]:
            self._demand_right(f"{closed} cannot be read by this account.")
            quarantine_user_file(closed)
        if is_plain_sqlite(path):
            self.set_aside_damaged(f"{path} is not encrypted: it is not a vault of codekernel.")
        elif is_lone_wal(path):
            aside = set_aside(path, datetime.now(UTC))
            _logger.warning("%s was lost or emptied; what is left of it is %s", path, aside.name)

    def _key(self) -> VaultKey:
        while True:
            try:
                return find_or_make_key(self.user_data, self.environ)
            except KeySourceDamaged as damage:
                self._demand_right(str(damage))
                quarantine_user_file(damage.path)
            except VaultKeyLost as loss:
                self.set_aside_damaged(str(loss))

    def _ready(self, key: VaultKey, rescued: VaultRows | None) -> Database:
        """The open database, whole, with all that it should hold; raises ``dbapi2.Error``."""
        path = self.user_data.database_file
        was_unused = is_unused(path)
        database = open_database(path, key, busy_timeout_ms=self.busy_timeout_ms)
        try:
            self._take_over_pending(database, key)
            if was_unused:
                self._fill(database, rescued or VaultRows())
            write_repo_list(self.user_data.repo_list_file, database)
        except BaseException:
            database.close()
            raise
        return database

    def _take_over_pending(self, database: Database, key: VaultKey) -> None:
        path = self.user_data.database_file
        for pending in databases_aside(path, PENDING):
            plain = is_plain_sqlite(pending)
            rows = read_pocketrag(pending) if plain else read_damaged(pending, key)
            self._put(database, rows)
            aside = settle_pending(pending, POCKETRAG if rows.is_pocketrag else UNREADABLE)
            _logger.warning("%s", _became_of(aside, rows))

    def _fill(self, database: Database, rescued: VaultRows) -> None:
        listed = read_repo_list(self.user_data.repo_list_file)
        self._put(database, rescued)
        self._put(database, VaultRows(repositories=listed))
        if listed and not rescued.repositories:
            _logger.warning(
                "the vault is new, but %s is of an earlier one: its repositories are back; API"
                " keys that are missing have to be entered again",
                self.user_data.repo_list_file.name,
            )

    def _put(self, database: Database, rows: VaultRows) -> None:
        database.execute("BEGIN IMMEDIATE")
        put_rows(database, rows)
        database.execute("COMMIT")


def _is_closed(path: Path) -> bool:
    """Whether a file may not be read even after its owner has been given the right to."""
    if not path.is_file() or os.access(path, os.R_OK):
        return False
    with suppress(OSError):
        path.chmod(0o600)
    return not os.access(path, os.R_OK)


def _became_of(aside: Path, rows: VaultRows) -> str:
    repositories, keys = len(rows.repositories), len(rows.api_keys)
    if rows.is_pocketrag:
        return (
            f"{repositories} repositories and {keys} API keys of an earlier PocketRAG were taken"
            f" over. Its database is kept as {aside.name}, where the keys stand in plain text: only"
            " its owner can read it; delete it once everything is as it should be."
        )
    return (
        f"{repositories} repositories and {keys} API keys could be read from the database that is"
        f" now {aside.name}. Keys that are missing have to be entered again. Nothing was"
        f" overwritten: with the right key in {VARIABLE}, or in its key file, that file can be"
        " renamed back."
    )


def vault_notes(user_data: UserData) -> list[str]:
    """What a person should know of the databases that were set aside; touches nothing."""
    path = user_data.database_file
    notes = [
        f"vault: {aside.name} in {aside.parent} could not be read and was set aside; API keys"
        " entered before may have to be entered again. Delete it when it is not needed any more."
        for label in (UNREADABLE, PENDING)
        for aside in databases_aside(path, label)
    ]
    notes += [
        f"vault: {aside.name} in {aside.parent} is an earlier PocketRAG's database, taken over; its"
        " API keys stand there in plain text, readable by its owner alone. Delete it once"
        " everything is as it should be."
        for aside in databases_aside(path, POCKETRAG)
    ]
    notes += [
        f"vault: {name}; the vault's key may be lost with it"
        for source in (user_data.key_file, user_data.vault_id_file)
        for name in (
            f"{aside.name} was damaged and set aside"
            for aside in databases_aside(source, UNREADABLE)
        )
    ]
    return notes
