"""The whole content of an index, to be compared with that of a new one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from codekernel.domain.settings import Performance
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.inference.model_pool import ModelPool
from codekernel.storage.index_store import IndexStore, list_vectors_folders, open_index
from codekernel.storage.vectors.vector_table import VectorTable

from support.indexer_process import WORDS

MAX_HITS = 10_000


def compare(folder: Path, clean: Path) -> None:
    """Both hold the same files, chunks and words, and a vector for each chunk, the same ones."""
    ours, theirs = contents(folder), contents(clean)
    for part, expected in theirs.items():
        assert ours[part] == expected, part
    compare_vectors(vectors(folder), vectors(clean))


def chunk_numbers(folder: Path) -> list[int]:
    store = open_index(folder)
    files = store.catalog.list_files().values()
    found = [chunk.id for file in files for chunk in store.catalog.list_chunks(file.id)]
    store.close()
    return sorted(found)


def contents(folder: Path) -> dict[str, Any]:
    """All that can be found in an index, without the numbers that only order of work decides."""
    store = open_index(folder)
    try:
        catalogue, files = store.catalog, store.catalog.list_files()
        chunks = [chunk for file in files.values() for chunk in catalogue.list_chunks(file.id)]
        assert store.lexical.document_count == len(chunks)
        return {
            "files": {path: (file.size, file.digest) for path, file in files.items()},
            "texts": {path: catalogue.read_document(file.id) for path, file in files.items()},
            "chunks": sorted(
                (chunk.path, chunk.max_chunk_chars, chunk.text_hash, replace(chunk, id=0))
                for chunk in chunks
            ),
            "refused": catalogue.count_skipped_by_reason(),
            "pending": store.active_writer.list_pending(),
            "hits": {word: hits(store, word) for word in (*WORDS, "def", "renamed")},
            # A kill leaves half of a snapshot, which the next start deletes.
            "configs": [it.name for it in list_vectors_folders(store.folder) if it.is_dir()],
        }
    finally:
        store.close()


def hits(store: IndexStore, word: str) -> list[tuple[str, int, int]]:
    found = [number for number, _ in store.lexical.search([word], MAX_HITS)]
    known = store.catalog.find_chunks(found)
    assert len(known) == len(found), "words of a chunk that is not there"
    return sorted((it.path, it.max_chunk_chars, it.begin) for it in known.values())


def vectors(folder: Path) -> dict[str, dict[int, Any]]:
    """Of each config, the vector of each key."""
    with ModelPool().acquire_embedder(
        get_bundled_folder() / STATIC_MODEL, Performance()
    ) as embedder:
        dimensions = embedder.dimensions
    found: dict[str, dict[int, Any]] = {}
    for place in sorted(filter(Path.is_dir, (folder / "vectors").iterdir())):
        table = VectorTable.open(place, dimensions)
        rows = [
            (int(key), numbers)
            for keys, matrix, _ in table._require_contents().lance_table().iterate_batches()
            for key, numbers in zip(keys, matrix, strict=True)
        ]
        assert len({key for key, _ in rows}) == len(rows)
        found[place.name] = dict(rows)
        table.close()
    return found


def compare_vectors(ours: dict[str, dict[int, Any]], clean: dict[str, dict[int, Any]]) -> None:
    assert ours.keys() == clean.keys()
    for name, expected in clean.items():
        assert expected.keys() <= ours[name].keys()
        for key, numbers in expected.items():
            # Half precision, of sums whose order depends on what was embedded together.
            np.testing.assert_allclose(ours[name][key], numbers, atol=2e-3)
