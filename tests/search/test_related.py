"""Code like a place: nearest by vectors, by shared words without them, never the place itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from codekernel.domain.index import Chunk, IndexedFile
from codekernel.errors import WrongParam
from codekernel.search.pipeline import Searcher
from codekernel.search.related import find_chunk_at
from codekernel.search.retrieval import SemanticIndex
from codekernel.storage.index_store import IndexStore, open_index
from codekernel.storage.lexical_documents import LexicalDocument

LENGTH = 1000
TEXTS = {
    "a.py": "def open_socket(host):\n    return connect(host)\n",
    "b.py": "def close_socket(host):\n    return host.close()\n",
    "c.py": "class Tree:\n    leaves = 3\n",
}


@dataclass(frozen=True)
class NearestVectors:
    """Vectors that know how near each text is."""

    cosines: dict[int, float]
    name: str = "model"
    is_contextual: bool = False

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        assert "open_socket" in query
        return sorted(self.cosines.items(), key=lambda pair: -pair[1])[:k]

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        return text_hash < 0 < max_chunk_chars

    def compute_similarities(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        raise AssertionError(query, texts)


@dataclass(frozen=True)
class RelatedIndex:
    store: IndexStore
    vector_indexes: Sequence[SemanticIndex] = ()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IndexStore]:
    store = open_index(tmp_path / "index")
    with store.active_writer.begin_batch() as batch:
        for key, (path, text) in enumerate(TEXTS.items()):
            (tmp_path / path).write_text(text)
            chunks = {LENGTH: [(Chunk(0, 2, 0, len(text)), key)]}
            file = IndexedFile(path, len(text), -1, b"", "python", "utf-8", text, chunks)
            ((number, _, _),) = batch.put_file(file)[1].written
            store.lexical.replace(path, [LexicalDocument(number, text, "", path)])
    store.lexical.commit()
    yield store
    store.close()


def related(tmp_path: Path, index: RelatedIndex, limit: int = 10) -> list[str]:
    hits = Searcher(tmp_path, index).find_related("a.py", 2, limit)
    return [hit.chunk.path for hit in hits]


def test_the_nearest_vectors_come_first(store: IndexStore, tmp_path: Path) -> None:
    vectors = NearestVectors({0: 1.0, 1: 0.2, 2: 0.7})
    assert related(tmp_path, RelatedIndex(store, [vectors])) == ["c.py", "b.py"]
    assert related(tmp_path, RelatedIndex(store, [vectors]), 1) == ["c.py"]


def test_without_vectors_shared_words_count(store: IndexStore, tmp_path: Path) -> None:
    assert related(tmp_path, RelatedIndex(store)) == ["b.py"]


def test_what_may_not_be_read_is_neither_related_nor_a_place(
    store: IndexStore, tmp_path: Path
) -> None:
    index = RelatedIndex(store, [NearestVectors({0: 1.0, 1: 0.2, 2: 0.7})])
    mine = Searcher(tmp_path, index, is_readable=lambda path: path != "c.py")
    assert [hit.chunk.path for hit in mine.find_related("a.py", 2, 10)] == ["b.py"]
    with pytest.raises(WrongParam, match=r"c\.py is not in the index"):
        mine.find_related("c.py", 2, 10)


def test_a_place_that_is_not_indexed_is_named(store: IndexStore) -> None:
    with pytest.raises(WrongParam, match=r"none\.py is not in the index"):
        find_chunk_at(RelatedIndex(store), "none.py", 1)
    with pytest.raises(WrongParam, match="nothing is indexed at line 9"):
        find_chunk_at(RelatedIndex(store), "a.py", 9)
