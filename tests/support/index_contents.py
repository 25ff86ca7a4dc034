"""All that can be found in an index, to be compared with that of an index made from nothing."""

from pathlib import Path
from typing import Any

import numpy as np

from kernel.domain.settings import Performance
from kernel.inference.shelf import Shelf
from kernel.settings.box import STATIC, box_folder
from kernel.storage.index_store import IndexStore, open_index
from kernel.storage.vector_table import VectorTable
from support.followed_by_child import WORDS

MOST_HITS = 10_000


def compare(folder: Path, clean: Path) -> None:
    """Both hold the same files, chunks and words, and a vector for each chunk, the same ones."""
    ours, theirs = contents(folder), contents(clean)
    for part, expected in theirs.items():
        assert ours[part] == expected, part
    compare_vectors(vectors(folder), vectors(clean))


def chunk_numbers(folder: Path) -> list[int]:
    store = open_index(folder)
    files = store.catalogue.files().values()
    found = [chunk.id for file in files for chunk in store.catalogue.chunks_of(file.id)]
    store.close()
    return sorted(found)


def contents(folder: Path) -> dict[str, Any]:
    """All that can be found in an index, without the numbers that only order of work decides."""
    store = open_index(folder)
    try:
        catalogue, files = store.catalogue, store.catalogue.files()
        chunks = [chunk for file in files.values() for chunk in catalogue.chunks_of(file.id)]
        assert store.lexical.document_count == len(chunks)
        return {
            "files": {path: (file.size, file.digest) for path, file in files.items()},
            "texts": {path: catalogue.document(file.id) for path, file in files.items()},
            "chunks": sorted(
                (chunk.path, chunk.input_length, chunk.key, chunk.chunk) for chunk in chunks
            ),
            "refused": catalogue.refused_by_reason(),
            "pending": store.writing.pending(),
            "hits": {word: hits(store, word) for word in (*WORDS, "def", "renamed")},
            "configs": [vectors.name for vectors in store.vectors_folders()],
        }
    finally:
        store.close()


def hits(store: IndexStore, word: str) -> list[tuple[str, int, int]]:
    found = [number for number, _ in store.lexical.search([word], MOST_HITS)]
    known = store.catalogue.chunks(found)
    assert len(known) == len(found), "words of a chunk that is not there"
    return sorted((it.path, it.input_length, it.chunk.begin) for it in known.values())


def vectors(folder: Path) -> dict[str, dict[int, Any]]:
    """Of each config, the vector of each key."""
    with Shelf().embedder(box_folder() / STATIC, Performance()) as embedder:
        dimensions = embedder.dimensions
    found: dict[str, dict[int, Any]] = {}
    for place in sorted((folder / "vectors").iterdir()):
        table = VectorTable.open(place, dimensions)
        rows = [
            (int(key), numbers)
            for keys, matrix in table._open().rows.read()
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
