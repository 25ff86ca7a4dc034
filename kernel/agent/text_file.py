"""A text file as tools see it: its text, and how to write another text with the same encoding.

A byte order mark, the encoding and damaged bytes come back as they were; a file whose bytes would
not come back exactly is not edited.
"""

import codecs
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from kernel.agent.failing import ToolFailed, said_by_system
from kernel.domain.confinement.beneath import Place
from kernel.walking.encodings import DAMAGED_UTF_8, decode, looks_binary

# By the mark: its bytes, and the encoding of what follows it.
_MARKED = {
    "utf-8-sig": ((codecs.BOM_UTF8, "utf-8"),),
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


@dataclass(frozen=True, slots=True)
class Encoding:
    """How texts of one file are written."""

    codec: str = "utf-8"
    mark: bytes = b""
    errors: str = "strict"

    def encode(self, text: str, shown: str) -> bytes:
        """The bytes of a text; ToolFailed names the first character that cannot be written."""
        try:
            return self.mark + text.encode(self.codec, self.errors)
        except UnicodeEncodeError as error:
            bad = error.object[error.start]
            raise ToolFailed(
                f"{shown} is written in {self.codec}, which has no character {bad!r}"
                f" (U+{ord(bad):04X}): leave it out, or write it another way."
            ) from None


@dataclass(frozen=True, slots=True)
class TextFile:
    """One state of a file; ``shown`` is its path for people, ``text`` has no byte order mark."""

    path: Path
    shown: str
    text: str
    encoding: Encoding
    data: bytes
    status: os.stat_result

    @property
    def sha256(self) -> str:
        """The digest of the whole file, as bytes on disk."""
        return digest(self.data)


def digest(data: bytes) -> str:
    """The sha256 that clients compare."""
    return hashlib.sha256(data).hexdigest()


def read_bytes(place: Place, shown: str, limit: int) -> tuple[bytes, os.stat_result]:
    """All bytes of a regular file; ToolFailed says why not."""
    try:
        # Opening a device can do something to it, so what is no file is not even opened.
        _must_be_file(shown, place.must_exist(), limit)
        descriptor = place.open_file()
    except FileNotFoundError as error:
        raise ToolFailed(f"File not found: {shown}") from error
    except OSError as error:
        raise ToolFailed(said_by_system(error, shown)) from error
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor is not a path
        status = os.fstat(descriptor)
        _must_be_file(shown, status, limit)
        data = file.read(status.st_size + 1)
    if len(data) != status.st_size:
        raise ToolFailed(f"{shown} is being written to by someone else: try again.")
    return data, status


def read_text(place: Place, shown: str, limit: int) -> TextFile:
    """A file's text; ToolFailed if it is no text, or one that could not be written back."""
    data, status = read_bytes(place, shown, limit)
    decoded = decode(data)
    if decoded is None:
        kind = "is a binary file" if looks_binary(data) else "is in no encoding that is recognised"
        raise ToolFailed(f"{shown} {kind}: it has no text to read or edit.")
    if decoded.encoding == DAMAGED_UTF_8:
        encoding = Encoding(errors="surrogateescape")
        text = data.decode(encoding.codec, encoding.errors)
    else:
        encoding, text = _encoding_of(decoded.encoding, data), decoded.text
    return TextFile(place.path, shown, text, encoding, data, status)


def must_come_back(file: TextFile) -> None:
    """ToolFailed if the bytes of an unchanged text would not be those that were read."""
    if file.encoding.encode(file.text, file.shown) != file.data:
        raise ToolFailed(
            f"{file.shown} is in an encoding ({file.encoding.codec}) in which it cannot be written"
            " back exactly: convert it to UTF-8 first."
        )


def must_be_text(content: str, name: str = "content") -> None:
    """ToolFailed if a text that is to be written has halves of characters in it."""
    if not content.isascii() and any("\ud800" <= character <= "\udfff" for character in content):
        raise ToolFailed(f"`{name}` has half of a surrogate pair in it, which is no character.")


def _encoding_of(name: str, data: bytes) -> Encoding:
    for mark, codec in _MARKED.get(name, ()):
        if data.startswith(mark):
            return Encoding(codec, mark)
    return Encoding(name)


def _must_be_file(shown: str, status: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolFailed(f"{shown} is a folder, not a file.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailed(f"{shown} is not a file with text in it.")
    if status.st_size > limit:
        raise _too_large(shown, status.st_size, limit)


def _too_large(shown: str, size: int, limit: int) -> ToolFailed:
    return ToolFailed(
        f"{shown} is too large: it has more than {limit:,} bytes ({size:,}). Look for the part"
        " that matters with search_context, or use a command."
    )
