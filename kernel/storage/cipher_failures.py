"""What SQLCipher refused, said so that a person knows what to do.

The text of its errors is not passed on: only the kind, so that no value can travel in a message.
"""

from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2

from kernel.errors import StorageError, VaultUnavailable
from kernel.storage.failures import (
    advice_on_permission,
    advice_on_read_only,
    advice_on_space,
    is_full,
)

_IN_USE = (
    "another process is writing to it: try again in a moment, and if it stays so,"
    " end the other codekernel that uses the same folder."
)
_UNREADABLE = {dbapi2.SQLITE_NOTADB, dbapi2.SQLITE_CORRUPT}


class DamagedPageError(dbapi2.DatabaseError):  # type: ignore[misc]  # the library has no types
    """A page does not have the content that was written to it."""

    sqlite_errorcode = dbapi2.SQLITE_CORRUPT


def is_unreadable(error: Any) -> bool:
    """Whether the key is wrong or the file is damaged, which SQLCipher cannot tell apart."""
    return _code(error) in _UNREADABLE


def explain_database(error: Any, path: Path) -> StorageError:
    """Put a ``dbapi2.Error``, met in the database at ``path``, into a sentence."""
    code = _code(error)
    folder = path.parent
    if code in {dbapi2.SQLITE_IOERR, dbapi2.SQLITE_CANTOPEN} and is_full(folder):
        code = dbapi2.SQLITE_FULL
    if code in _UNREADABLE:
        return VaultUnavailable(
            f"The vault {path} is damaged and part of it cannot be read. {how_to_replace(path)}"
        )
    sentences = {
        dbapi2.SQLITE_FULL: f"the disk is full: {advice_on_space(folder)}",
        dbapi2.SQLITE_BUSY: _IN_USE,
        dbapi2.SQLITE_LOCKED: _IN_USE,
        dbapi2.SQLITE_READONLY: f"it cannot be written: {advice_on_read_only(folder)}",
        dbapi2.SQLITE_CANTOPEN: f"it cannot be opened: {advice_on_permission(folder)}",
        dbapi2.SQLITE_PERM: f"it cannot be opened: {advice_on_permission(folder)}",
        dbapi2.SQLITE_IOERR: (
            "the disk failed while reading or writing: check that the disk that holds"
            f" {folder} is there, healthy and not full, then try again."
        ),
    }
    kind = getattr(error, "sqlite_errorname", None) or type(error).__name__
    sentence = sentences.get(
        code, f"the database refused the work ({kind}): try again, and report it if it stays so."
    )
    return StorageError(f"The vault {path} could not be used, {sentence}")


def how_to_replace(path: Path) -> str:
    """Say how to go on when the file itself is bad."""
    return (
        "Nothing was overwritten. Stop codekernel, then put the file back from a backup, or move"
        f" {path.name} and the {path.name}-wal beside it out of {path.parent}: codekernel then"
        " starts an empty vault, and repositories and API keys are entered again."
    )


def _code(error: Any) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte is the kind; the rest says where inside SQLite it arose.
    return None if code is None else code & 0xFF
