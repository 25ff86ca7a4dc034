"""The repositories once more, in a plain file beside the vault: no secret, and enough to go on.

A vault that is lost or cannot be read any more takes its keys with it, but not the list of
repositories, whose ids name the indexes.
"""

import json
import logging
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from kernel.errors import StorageError
from kernel.storage.atomic import write_bytes
from kernel.storage.column_text import from_column, to_column
from kernel.storage.database import Database, Row
from kernel.storage.quarantine import quarantine_user_file
from kernel.storage.set_aside import is_odd

MAX_LIST_BYTES = 16 * 1024 * 1024
# A damaged number must not use up the ids that SQLite can give.
MAX_REPO_ID = 2**31

_logger = logging.getLogger(__name__)


def read_repo_list(path: Path) -> list[Row]:
    """The rows of the table ``repository``; none if there is no such file or it is damaged."""
    try:
        if is_odd(path) or path.stat().st_size > MAX_LIST_BYTES:
            return []
        entries = _verified_entries(json.loads(path.read_bytes()))
        named = [(each["id"], each["name"], each["path"]) for each in entries]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        _logger.warning("%s is damaged and will be written anew", path)
        return []
    return [
        (number, to_column(name), to_column(folder))
        for number, name, folder in named
        if isinstance(number, int) and 0 < number <= MAX_REPO_ID
        if isinstance(name, str) and name and isinstance(folder, str) and folder
        if "\0" not in name + folder
    ]


def write_repo_list(path: Path, database: Database) -> None:
    """Write the list if it is not what the vault has; a failure is logged, the vault has it all."""
    rows = database.execute("SELECT id, name, path FROM repository ORDER BY id").fetchall()
    entries = [
        {"id": number, "name": from_column(name), "path": from_column(folder)}
        for number, name, folder in rows
    ]
    document = {"repositories": entries, "sha256": _checksum(entries)}
    content = json.dumps(document, indent=1).encode()
    try:
        if is_odd(path):
            quarantine_user_file(path)
        if content != _content(path) and (rows or path.exists()):
            write_bytes(path, content, mode=0o600)
    except (OSError, StorageError) as error:
        _logger.warning("the list of repositories could not be written beside the vault: %s", error)


def _verified_entries(document: Any) -> list[Any]:
    """What the file lists; raises ValueError if a flipped bit may name another folder."""
    entries: list[Any] = document["repositories"]
    if document["sha256"] != _checksum(entries):
        raise ValueError("the checksum differs")
    return entries


def _checksum(entries: object) -> str:
    return sha256(json.dumps(entries).encode()).hexdigest()


def _content(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""
