"""The undo journal on disk.

An append-only journal.jsonl with one line per change, and <number>.before files for content too
large for a line or for deleted entries.
"""

import logging
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from codekernel.errors import StorageError
from codekernel.protocol.codec import dump_json, load_json
from codekernel.storage.os_errors import explain_os_error
from codekernel.storage.quarantine import clear_parent_folders, quarantine_user_file
from codekernel.storage.safe_files import NotRegularFile, fsync_folder, open_regular, read_regular
from codekernel.storage.user_data import make_private_folder

logger = logging.getLogger(__name__)

# Bytes. Nearly every file that is edited is smaller; a larger one is worth a flush of its own.
_MAX_INLINE_BYTES = 256 * 1024

_NUMBER, _CONTENT, _SETTLED = "number", "before", "settled"

_APPEND_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)

_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)


class ChangeJournalFile:
    """Keeps the offsets of contents in the file, not the contents.

    ``last_number`` is the highest number so far: none is used twice, even after it was discarded.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "journal.jsonl"
        self._line_offsets: dict[int, int] = {}
        self.last_number = 0

    def list_changes(self) -> list[dict[str, Any]]:
        """Return the changes that were not discarded, oldest first, without contents.

        Raises StorageError.
        """
        found: dict[int, dict[str, Any]] = {}
        for place, entry in self._read_entries():
            settled, number = entry.get(_SETTLED), entry.get(_NUMBER)
            if isinstance(settled, int):
                found.pop(settled, None)
            elif isinstance(number, int):
                self.last_number = max(self.last_number, number)
                if entry.pop(_CONTENT, None) is not None:
                    self._line_offsets[number] = place
                found[number] = entry
        return list(found.values())

    def append_change(self, entry: Mapping[str, Any], content: bytes | None = None) -> None:
        """Add a change, with the content before; on the disk afterwards. Raises StorageError."""
        number = self.last_number = entry[_NUMBER]
        try:
            if not self.folder.is_dir():
                make_private_folder(self.folder)
            if content is not None and len(content) <= _MAX_INLINE_BYTES:
                text = b64encode(content).decode("ascii")
                self._line_offsets[number] = self._append({**entry, _CONTENT: text})
                return
            if content is not None:
                self._write_before(number, content)
            self._append(entry)
        except OSError as error:
            raise explain_os_error(error, self._file) from error

    def discard_change(self, number: int) -> None:
        """Forget a change that was undone, or that never happened. Raises StorageError."""
        try:
            # If a power cut takes this line, undoing again finds nothing to do.
            self._append({_SETTLED: number}, fsync=False)
        except OSError as error:
            raise explain_os_error(error, self._file) from error
        self._line_offsets.pop(number, None)
        kept = self.get_before_path(number)
        with suppress(OSError):
            if kept.is_file() and not kept.is_symlink():
                kept.unlink()

    def get_before_path(self, number: int) -> Path:
        """Return the path of a content that is not in a line."""
        return self.folder / f"{number}.before"

    def read_before(self, number: int) -> bytes:
        """Return the content of a file before this change. Raises OSError, StorageError."""
        place = self._line_offsets.get(number)
        if place is None:
            return read_regular(self.get_before_path(number))
        with self._file.open("rb") as file:
            file.seek(place)
            line = file.readline()
        try:
            return b64decode(_parse_entry(line)[_CONTENT], validate=True)
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"The journal {self._file} is broken.") from error

    def _read_entries(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each line's offset and entry."""
        place = 0
        try:
            clear_parent_folders(self.folder, 2)
            with open(open_regular(self._file), "rb") as file:  # noqa: PTH123 - a descriptor
                for line in file:
                    yield place, _parse_entry(line)
                    place += len(line)
        except FileNotFoundError:
            return
        except NotRegularFile:
            quarantine_user_file(self._file)
        except OSError as error:
            raise explain_os_error(error, self._file) from error

    def _append(self, entry: object, *, fsync: bool = True) -> int:
        """Add a line; where it begins."""
        # A line that a crash cut off must not swallow this one.
        line = b"\n" + dump_json(entry) + b"\n"
        is_new = not self._file.exists()
        descriptor = os.open(self._file, _APPEND_FLAGS | os.O_CREAT, 0o600)
        with open(descriptor, "ab") as file:  # noqa: PTH123 - a descriptor is not a path
            file.write(line)
            file.flush()
            end = file.tell()
            if fsync:
                os.fsync(descriptor)
        if is_new:
            fsync_folder(self.folder)
            fsync_folder(self.folder.parent)
        return end - len(line) + 1

    def _write_before(self, number: int, content: bytes) -> None:
        """Write a content; a half-written one does no harm: its line is written after it."""
        descriptor = os.open(self.get_before_path(number), _CREATE_FLAGS, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor is not a path
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        fsync_folder(self.folder)


def _parse_entry(line: bytes) -> dict[str, Any]:
    """Parse a line; empty for one that a crash cut off, before the change it was to record."""
    try:
        entry = load_json(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
