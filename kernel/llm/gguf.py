"""The file of a local chat model: where it is, and how much it was trained to read."""

import struct
from pathlib import Path
from typing import BinaryIO

from kernel.errors import InvalidModel

SUFFIX = ".gguf"
_MAGIC = b"GGUF"
_OLDEST_VERSION = 2
_CONTEXT_LENGTH = ".context_length"
# Scalars by their number in the format; 8 is a text and 9 a list.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}  # fmt: skip  # noqa: E501
_TEXT = 8
_LIST = 9
# The context length stands among the first few keys, between lists of authors and languages; the
# vocabulary comes later, and is too long to be read through.
_MOST_KEYS = 256
_LONGEST_LIST = 1000
_LONGEST_TEXT = 1 << 20


def find_gguf(path: Path) -> Path:
    """Find the model file: ``path`` itself, or the first one in that folder.

    Of a model in several parts that is the part to begin with. What belongs to images is no model.
    """
    if path.is_file():
        return path
    found = [file for file in sorted(path.glob(f"*{SUFFIX}")) if not file.name.startswith("mmproj")]
    if not found:
        raise InvalidModel(f"{path} holds no {SUFFIX} file: point it at one, or at its folder.")
    return found[0]


def trained_context(file: Path) -> int | None:
    """Read how many tokens the model was trained to read; None if the file does not say."""
    try:
        with file.open("rb") as opened:
            if opened.read(4) != _MAGIC:
                raise InvalidModel(f"{file} is no {SUFFIX} file: download it again.")
            return _context_length(opened)
    except OSError as error:
        raise InvalidModel(f"{file} cannot be read: {error.strerror}.") from None
    except (struct.error, UnicodeDecodeError, KeyError):
        raise InvalidModel(f"{file} is damaged: download it again.") from None


def _context_length(opened: BinaryIO) -> int | None:
    version, _tensors, keys = _read(opened, "IQQ")
    if version < _OLDEST_VERSION:
        return None
    for _ in range(min(keys, _MOST_KEYS)):
        name = _text(opened)
        (kind,) = _read(opened, "I")
        if kind == _LIST:
            (kind, length) = _read(opened, "IQ")
            if length > _LONGEST_LIST:
                return None
            for _ in range(length):
                _value(opened, kind)
            continue
        value = _value(opened, kind)
        if name.endswith(_CONTEXT_LENGTH):
            return int(value)
    return None


def _value(opened: BinaryIO, kind: int) -> str | int:
    return _text(opened) if kind == _TEXT else _read(opened, _SCALARS[kind])[0]


def _text(opened: BinaryIO) -> str:
    (length,) = _read(opened, "Q")
    if length > _LONGEST_TEXT:
        raise struct.error
    return opened.read(length).decode()


def _read(opened: BinaryIO, form: str) -> tuple[int, ...]:
    layout = struct.Struct("<" + form)
    return layout.unpack(opened.read(layout.size))
