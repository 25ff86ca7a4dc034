"""Text files as tools see them.

Read with encoding and byte order mark, checked to be written back byte for byte; FileStates
remembers the state in which each file was last read or written.
"""

import codecs
import hashlib
import os
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from codekernel.agent.tool_policy import ToolError, translate_os_errors
from codekernel.agent.workspace.atomic_write import is_same_state
from codekernel.domain.confined_path import ConfinedPath
from codekernel.files.encodings import DAMAGED_UTF_8, decode_text, is_binary

# By the mark: its bytes, and the encoding of what follows it.
_BOM_ENCODINGS = {
    "utf-8-sig": ((codecs.BOM_UTF8, "utf-8"),),
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """The encoding of a file, with its byte order mark."""

    codec: str = "utf-8"
    bom: bytes = b""
    errors: str = "strict"

    def encode(self, text: str, display_path: str) -> bytes:
        """Encode a text. Raises ToolError with the first character that cannot be written."""
        try:
            return self.bom + text.encode(self.codec, self.errors)
        except UnicodeEncodeError as error:
            bad = error.object[error.start]
            raise ToolError(
                f"{display_path} is written in {self.codec}, which has no character {bad!r}"
                f" (U+{ord(bad):04X}): leave it out, or write it another way."
            ) from None


@dataclass(frozen=True, slots=True)
class TextFile:
    """One state of a file; ``display_path`` is for messages, ``text`` has no byte order mark."""

    path: Path
    display_path: str
    text: str
    encoding: TextEncoding
    data: bytes
    status: os.stat_result

    @property
    def sha256(self) -> str:
        """The digest of the whole file, as bytes on disk."""
        return hash_bytes(self.data)


def hash_bytes(data: bytes) -> str:
    """The sha256 that clients compare."""
    return hashlib.sha256(data).hexdigest()


def read_file_bytes(
    place: ConfinedPath, display_path: str, max_bytes: int
) -> tuple[bytes, os.stat_result]:
    """Read all bytes of a regular file. Raises ToolError."""
    with translate_os_errors(display_path):
        try:
            # Opening a device can do something to it, so what is no file is not even opened.
            _check_regular_file(display_path, place.require_status(), max_bytes)
            descriptor = place.open_file()
        except FileNotFoundError as error:
            raise ToolError(f"File not found: {display_path}") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular_file(display_path, status, max_bytes)
        data = file.read(status.st_size + 1)
    if len(data) != status.st_size:
        raise ToolError(f"{display_path} is being written to by someone else: try again.")
    return data, status


def read_text_file(place: ConfinedPath, display_path: str, max_bytes: int) -> TextFile:
    """Read a text file. Raises ToolError if it is none, or could not be written back."""
    data, status = read_file_bytes(place, display_path, max_bytes)
    decoded = decode_text(data)
    if decoded is None:
        kind = "is a binary file" if is_binary(data) else "is in no encoding that is recognised"
        raise ToolError(f"{display_path} {kind}: it has no text to read or edit.")
    if decoded.encoding == DAMAGED_UTF_8:
        encoding = TextEncoding(errors="surrogateescape")
        text = data.decode(encoding.codec, encoding.errors)
    else:
        encoding, text = _detect_encoding(decoded.encoding, data), decoded.text
    return TextFile(place.path, display_path, text, encoding, data, status)


def check_round_trip(file: TextFile) -> None:
    """Raise ToolError if the unchanged text would not be written back byte for byte."""
    if file.encoding.encode(file.text, file.display_path) != file.data:
        raise ToolError(
            f"{file.display_path} is in an encoding ({file.encoding.codec}) in which it cannot be"
            " written back exactly: convert it to UTF-8 first."
        )


def reject_surrogates(content: str, name: str = "content") -> None:
    """Raise ToolError if a text that is to be written has lone surrogates."""
    if not content.isascii() and any("\ud800" <= character <= "\udfff" for character in content):
        raise ToolError(f"`{name}` has half of a surrogate pair in it, which is no character.")


def _detect_encoding(name: str, data: bytes) -> TextEncoding:
    for mark, codec in _BOM_ENCODINGS.get(name, ()):
        if data.startswith(mark):
            return TextEncoding(codec, mark)
    return TextEncoding(name)


def _check_regular_file(display_path: str, status: os.stat_result, max_bytes: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{display_path} is a folder, not a file.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{display_path} is not a file with text in it.")
    if status.st_size > max_bytes:
        raise ToolError(
            f"{display_path} is too large: it has more than {max_bytes:,} bytes"
            f" ({status.st_size:,}). Look for the part that matters with search_context, or use a"
            " command."
        )


class FileStates:
    """The states in which files were last read or written; safe to use from several threads."""

    def __init__(self) -> None:
        self._states: dict[Path, os.stat_result] = {}
        self._lock = threading.Lock()

    def record(self, path: Path, status: os.stat_result) -> None:
        """Record the state in which a file was read or written."""
        with self._lock:
            self._states[path] = status

    def has_state(self, path: Path) -> bool:
        """Return whether the file was read or written before."""
        with self._lock:
            return path in self._states

    def is_stale(self, path: Path, status: os.stat_result) -> bool:
        """Return whether a recorded file has changed since."""
        with self._lock:
            known = self._states.get(path)
        return known is not None and not is_same_state(status, known)
