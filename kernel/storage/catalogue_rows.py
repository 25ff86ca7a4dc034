"""Rows of the catalogue <-> values."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from kernel.domain.chunk import Chunk
from kernel.domain.indexed import IndexedChunk

# Between names in one column; no name contains it.
_SEPARATOR = "\x1f"
# Paths and lists of names that were read before; the same few are read again and again.
_REMEMBERED = 65_536
# Level 1: half a millisecond for a hundred kilobytes, and a third of their size.
_COMPRESSION = 1

CHUNK_COLUMNS = (
    "chunk.id, file.path, file.language, chunk.input_length, chunk.key, chunk.begin_line,"
    " chunk.end_line, chunk.begin_char, chunk.end_char, chunk.kind, chunk.symbols, chunk.signature,"
    " chunk.defines"
)


def path_bytes(path: str) -> bytes:
    """A path as stored; any file name of any system survives it."""
    return path.encode(errors="surrogatepass")


def path_text(stored: bytes) -> str:
    """The path again."""
    return stored.decode(errors="surrogatepass")


def packed(text: str) -> bytes:
    """A file's text as stored."""
    return zlib.compress(text.encode(errors="surrogatepass"), _COMPRESSION)


def unpacked(stored: bytes) -> str:
    """The text again."""
    return zlib.decompress(stored).decode(errors="surrogatepass")


def chunk_row(file_id: int, input_length: int, key: int, chunk: Chunk) -> tuple[Any, ...]:
    """The columns of a chunk after its id."""
    return (
        file_id,
        input_length,
        key,
        chunk.begin_line,
        chunk.end_line,
        chunk.begin,
        chunk.end,
        chunk.kind,
        _joined(chunk.symbols),
        _storable(chunk.signature),
        _joined(chunk.defines),
    )


def indexed_chunk(row: Sequence[Any]) -> IndexedChunk:
    """A row of CHUNK_COLUMNS as a value; a search makes hundreds, hence no keywords here."""
    symbols, defines = split_names(row[10]), split_names(row[12])
    chunk = Chunk(row[5], row[6], row[7], row[8], row[9], symbols, row[11], defines)
    return IndexedChunk(row[0], _remembered_path(row[1]), row[2], row[3], row[4], chunk)


@lru_cache(_REMEMBERED)
def _remembered_path(stored: bytes) -> str:
    return path_text(stored)


def _joined(names: Sequence[str]) -> str:
    return _storable(_SEPARATOR.join(names))


@lru_cache(_REMEMBERED)
def split_names(column: str) -> tuple[str, ...]:
    """The names in one column."""
    return tuple(column.split(_SEPARATOR)) if column else ()


def _storable(text: str) -> str:
    """SQLite takes no half characters; in a name shown to people a question mark will do."""
    return text if text.isascii() else text.encode(errors="replace").decode()
