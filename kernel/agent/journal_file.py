"""A journal on disk: lines that are only ever added, and what is too large to stand in one.

    <folder>/journal.jsonl     one line per change, the content before in it
    <folder>/<number>.before   a larger content before, or what was deleted, moved here whole

A line is on the disk before the change that it notes; with the content in it that is one flush
(docs/decisions/0018-what-a-round-may-cost.md).
"""

import logging
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kernel.errors import StorageError
from kernel.protocol.plain_json import dumped, loaded
from kernel.storage.failures import explain
from kernel.storage.private_folder import make_private_folder
from kernel.storage.quarantine import clear_way, quarantine_user_file
from kernel.storage.regular_file import NotRegularFile, open_regular, read_regular
from kernel.storage.written_beside import flush_folder

logger = logging.getLogger(__name__)

# Bytes. Nearly every file that is edited is smaller; a larger one is worth a flush of its own.
_MOST_IN_LINE = 256 * 1024
_NUMBER, _CONTENT, _SETTLED = "number", "before", "settled"
_ADD = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)


class JournalFile:
    """Remembers where in the file a content stands, not the content.

    ``last`` is the highest number so far: none is used twice, also after it was settled.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "journal.jsonl"
        self._places: dict[int, int] = {}
        self.last = 0

    def changes(self) -> list[dict[str, Any]]:
        """What was noted and not settled, oldest first, without contents. Raises StorageError."""
        found: dict[int, dict[str, Any]] = {}
        for place, entry in self._entries():
            settled, number = entry.get(_SETTLED), entry.get(_NUMBER)
            if isinstance(settled, int):
                found.pop(settled, None)
            elif isinstance(number, int):
                self.last = max(self.last, number)
                if entry.pop(_CONTENT, None) is not None:
                    self._places[number] = place
                found[number] = entry
        return list(found.values())

    def note(self, entry: Mapping[str, Any], content: bytes | None = None) -> None:
        """Add a change, with the content before; on the disk afterwards. Raises StorageError."""
        number = self.last = entry[_NUMBER]
        try:
            if not self.folder.is_dir():
                make_private_folder(self.folder)
            if content is not None and len(content) <= _MOST_IN_LINE:
                text = b64encode(content).decode("ascii")
                self._places[number] = self._append({**entry, _CONTENT: text})
                return
            if content is not None:
                self._keep(number, content)
            self._append(entry)
        except OSError as error:
            raise explain(error, self._file) from error

    def settle(self, number: int) -> None:
        """Forget a change that was undone, or that never happened. Raises StorageError."""
        try:
            # If a power cut takes this line, undoing again finds nothing to do.
            self._append({_SETTLED: number}, is_urgent=False)
        except OSError as error:
            raise explain(error, self._file) from error
        self._places.pop(number, None)
        kept = self.kept(number)
        with suppress(OSError):
            if kept.is_file() and not kept.is_symlink():
                kept.unlink()

    def kept(self, number: int) -> Path:
        """Where something lies that is no part of a line."""
        return self.folder / f"{number}.before"

    def content(self, number: int) -> bytes:
        """What a file had in it before this change. Raises OSError, StorageError."""
        place = self._places.get(number)
        if place is None:
            return read_regular(self.kept(number))
        with self._file.open("rb") as file:
            file.seek(place)
            line = file.readline()
        try:
            return b64decode(_entry(line)[_CONTENT], validate=True)
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"The journal {self._file} is broken.") from error

    def _entries(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """What stands in each line, and where the line begins."""
        place = 0
        try:
            clear_way(self.folder, 2)
            with open(open_regular(self._file), "rb") as file:  # noqa: PTH123 - a descriptor
                for line in file:
                    yield place, _entry(line)
                    place += len(line)
        except FileNotFoundError:
            return
        except NotRegularFile:
            quarantine_user_file(self._file)
        except OSError as error:
            raise explain(error, self._file) from error

    def _append(self, entry: object, *, is_urgent: bool = True) -> int:
        """Add a line; where it begins."""
        # A line that a crash cut off must not swallow this one.
        line = b"\n" + dumped(entry) + b"\n"
        is_new = not self._file.exists()
        descriptor = os.open(self._file, _ADD | os.O_CREAT, 0o600)
        with open(descriptor, "ab") as file:  # noqa: PTH123 - a descriptor is not a path
            file.write(line)
            file.flush()
            end = file.tell()
            if is_urgent:
                os.fsync(descriptor)
        if is_new:
            flush_folder(self.folder)
            flush_folder(self.folder.parent)
        return end - len(line) + 1

    def _keep(self, number: int, content: bytes) -> None:
        """Nobody looks for it before its line is there, so that a half of it does no harm."""
        descriptor = os.open(self.kept(number), _MAKE, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor is not a path
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        flush_folder(self.folder)


def _entry(line: bytes) -> dict[str, Any]:
    """Nothing for a line that a crash cut off, before the change that it was to note."""
    try:
        entry = loaded(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
