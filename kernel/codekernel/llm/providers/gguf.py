"""Find the .gguf file of a local chat model and read its context length from the header.

Imports no heavy library, so the settings can use it.
"""

import struct
from pathlib import Path
from typing import BinaryIO

from codekernel.errors import InvalidModel

GGUF_SUFFIX = ".gguf"

_MAGIC = b"GGUF"

_MIN_VERSION = 2

_CONTEXT_LENGTH_KEY = ".context_length"

# Scalars by their number in the format; 8 is a text and 9 a list.
_SCALAR_FORMATS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))

_STRING_TYPE = 8

_ARRAY_TYPE = 9

# The context length stands among the first few keys, between lists of authors and languages; the
# vocabulary comes later, and is too long to be read through.
_MAX_KEYS = 256

_MAX_ARRAY_LENGTH = 1000

_MAX_STRING_BYTES = 1 << 20


def find_gguf(path: Path) -> Path:
    """Find the model file: ``path`` itself, or the first one in that folder.

    Of a model in several parts that is the part to begin with. What belongs to images is no model.
    """
    if path.is_file():
        return path
    found = [
        file for file in sorted(path.glob(f"*{GGUF_SUFFIX}")) if not file.name.startswith("mmproj")
    ]
    if not found:
        raise InvalidModel(
            f"{path} holds no {GGUF_SUFFIX} file: point it at one, or at its folder."
        )
    return found[0]


def read_context_length(file: Path) -> int | None:
    """Read how many tokens the model was trained to read; None if the file does not say."""
    try:
        with file.open("rb") as opened:
            if opened.read(4) != _MAGIC:
                raise InvalidModel(f"{file} is no {GGUF_SUFFIX} file: download it again.")
            return _parse_context_length(opened)
    except OSError as error:
        raise InvalidModel(f"{file} cannot be read: {error.strerror}.") from None
    except (struct.error, UnicodeDecodeError, KeyError):
        raise InvalidModel(f"{file} is damaged: download it again.") from None


def _parse_context_length(opened: BinaryIO) -> int | None:
    version, _tensors, keys = _unpack(opened, "IQQ")
    if version < _MIN_VERSION:
        return None
    for _ in range(min(keys, _MAX_KEYS)):
        name = _read_string(opened)
        (kind,) = _unpack(opened, "I")
        if kind == _ARRAY_TYPE:
            (kind, length) = _unpack(opened, "IQ")
            if length > _MAX_ARRAY_LENGTH:
                return None
            for _ in range(length):
                _read_value(opened, kind)
            continue
        value = _read_value(opened, kind)
        if name.endswith(_CONTEXT_LENGTH_KEY):
            return int(value)
    return None


def _read_value(opened: BinaryIO, kind: int) -> str | int:
    return (
        _read_string(opened) if kind == _STRING_TYPE else _unpack(opened, _SCALAR_FORMATS[kind])[0]
    )


def _read_string(opened: BinaryIO) -> str:
    (length,) = _unpack(opened, "Q")
    if length > _MAX_STRING_BYTES:
        raise struct.error
    return opened.read(length).decode()


def _unpack(opened: BinaryIO, form: str) -> tuple[int, ...]:
    layout = struct.Struct("<" + form)
    return layout.unpack(opened.read(layout.size))
