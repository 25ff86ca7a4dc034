"""Whether ``calls.db`` is as it was written. It is a cache: what is in doubt is read anew.

Any process may write it, so its checksums are taken when the last of them has closed it, and
removed before the next write. Without them it is used only beside a process that has it open.
"""

import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.call_schema import open_calls
from kernel.storage.catalogue_failures import CatalogueDamaged, sqlite_errors
from kernel.storage.index_shape import is_usable_file
from kernel.storage.page_checksums import SUMS_SUFFIX, PageChecksums
from kernel.storage.quarantine import quarantine_derived

logger = logging.getLogger(__name__)

# The database goes last: without it SQLite would take a lone log for rubbish.
_ENDS = (SUMS_SUFFIX, "-wal", "-shm", "-journal", "")


def ensure_whole(path: Path) -> None:
    """Quarantine the database if it is damaged, or if nobody can say that it is not."""
    if find_damage(path) or (_has_content(path) and not _is_known(path)):
        logger.info("%s is read anew from the catalog", path)
        quarantine_calls(path)


def find_damage(path: Path) -> str:
    """What is wrong with the database; nothing if it is whole, or cannot be compared."""
    for end in _ENDS:
        companion = path.with_name(f"{path.name}{end}")
        if os.path.lexists(companion) and not is_usable_file(companion):
            return f"{companion} is not a file that can be read"
    if not path.exists():
        return ""
    try:
        PageChecksums(path).verify()
    except CatalogueDamaged as damage:
        return str(damage)
    return ""


def note_checksums(path: Path) -> None:
    """Take the checksums, if nobody has the database open any more."""
    if path.exists() and not path.with_name(f"{path.name}-wal").exists():
        try:
            PageChecksums(path).adopt()
        except StorageError as error:
            logger.warning("%s", error)


def quarantine_calls(path: Path) -> None:
    """Move the database and its companions aside."""
    for end in _ENDS:
        quarantine_derived(path.with_name(f"{path.name}{end}"))


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _is_known(path: Path) -> bool:
    """Whether there are checksums, or a process that has it open and will write some."""
    return PageChecksums(path).path.exists() or not _is_alone(path)


def _is_alone(path: Path) -> bool:
    """Whether no other process, and nobody else in this one, has the database open."""
    try:
        with sqlite_errors(path), closing(open_calls(path)) as database:
            database.execute("PRAGMA busy_timeout = 0")
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
            database.execute("ROLLBACK")
    except CatalogueDamaged:
        return True
    except StorageError as error:
        cause = error.__cause__
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        return code != sqlite3.SQLITE_BUSY
    return True
