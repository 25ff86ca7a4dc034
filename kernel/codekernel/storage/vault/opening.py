"""Open or create the vault.

Quarantine what cannot be used, import the rows that can still be read, and restore the list of
repositories.
"""

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlcipher3 import dbapi2

from codekernel.errors import VaultUnavailable
from codekernel.storage.os_errors import explain_os_error
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
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.encrypted_database import (
    DatabaseConnection,
    describe_replacement,
    explain_sqlcipher_error,
    is_unreadable_error,
    is_unused,
    open_encrypted_database,
)
from codekernel.storage.vault.recovery import (
    VaultRows,
    insert_rows,
    is_plain_sqlite,
    read_pocketrag,
    read_repo_list,
    salvage_rows,
    write_repo_list,
)
from codekernel.storage.vault.vault_key import (
    VAULT_KEY_VARIABLE,
    KeySourceDamaged,
    VaultKey,
    VaultKeyLost,
    find_or_create_key,
)

_logger = logging.getLogger(__name__)


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
        was_unused = is_unused(path)
        database = open_encrypted_database(path, key, busy_timeout_ms=self.busy_timeout_ms)
        try:
            self._import_pending(database, key)
            if was_unused:
                self._restore_rows(database, rescued or VaultRows())
            write_repo_list(self.user_data.repo_list_file, database)
        except BaseException:
            database.close()
            raise
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
        insert_rows(database, VaultRows(repositories=listed))
        if listed and not rescued.repositories:
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
