"""Whether a hit is as its file is now: files checked against what was indexed, texts embedded."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from codekernel.domain.index import (
    CHANGED_SINCE_INDEXED,
    EMBEDDING_PENDING,
    FRESH,
    FileRecord,
    IndexedChunk,
)
from codekernel.search.retrieval import SemanticIndex


def find_unchanged_files(folder: Path, files: Mapping[str, FileRecord]) -> dict[str, bool]:
    """Return for each file that exists whether it is as it was when it was indexed."""
    root, unchanged = os.fspath(folder), {}
    for path, known in files.items():
        try:
            found = os.stat(os.path.join(root, path))  # noqa: PTH116, PTH118 - a third of the time
        except OSError:
            continue
        same_time = known.mtime_ns in {found.st_mtime_ns, -1}
        unchanged[path] = found.st_size == known.size and same_time
    return unchanged


def get_freshness(
    chunk: IndexedChunk,
    vector_indexes: Sequence[SemanticIndex],
    embedded_hashes: frozenset[int],
    *,
    is_unchanged: bool,
) -> str:
    """Return how a hit compares with its file; ``embedded_hashes`` are known to have vectors."""
    if not is_unchanged:
        return CHANGED_SINCE_INDEXED
    is_pending = chunk.text_hash not in embedded_hashes and any(
        vectors.is_missing(chunk.text_hash, chunk.max_chunk_chars) for vectors in vector_indexes
    )
    return EMBEDDING_PENDING if is_pending else FRESH
