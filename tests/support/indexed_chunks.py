"""Chunks as the catalog has them, made up."""

from typing import Any

from codekernel.domain.index import IndexedChunk


def indexed_chunk(path: str = "a.py", number: int = 1, **fields: Any) -> IndexedChunk:
    """Return a chunk of one line, unless ``fields`` say otherwise."""
    defaults: dict[str, Any] = {
        "begin_line": 0,
        "end_line": 1,
        "begin": 0,
        "end": 1,
        "language": "python",
        "max_chunk_chars": 100,
        "text_hash": number,
    }
    return IndexedChunk(id=number, path=path, **(defaults | fields))
