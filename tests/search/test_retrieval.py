import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from codekernel.domain.index import Chunk, IndexedFile
from codekernel.search.query_parser import parse_query
from codekernel.search.retrieval import find_mentioned_chunks, search_indexes
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.writer import CatalogWriter
from codekernel.storage.lexical_documents import LexicalDocument
from codekernel.storage.lexical_index import LexicalIndex


def test_the_chunks_of_mentioned_files_are_candidates(tmp_path: Path) -> None:
    writer, catalog = CatalogWriter(tmp_path / "c.db"), Catalog(tmp_path / "c.db")
    chunks = {100: [(Chunk(line, line + 2, line, line + 2), line) for line in (0, 2, 4)]}
    with writer.begin_batch() as batch:
        for path in ("src/bar.py", "lib/bar.py", "src/other.py"):
            batch.put_file(IndexedFile(path, 6, 5, b"", "python", "utf-8", "abcdef", chunks))
    at_line = find_mentioned_chunks(catalog, parse_query("src/bar.py:3"))
    assert [(it.path, it.begin_line) for it in at_line] == [("src/bar.py", 2)]
    assert len(find_mentioned_chunks(catalog, parse_query("bar.py"))) == 6
    assert find_mentioned_chunks(catalog, parse_query("how are bars closed")) == []


class Vectors:
    """A vector index that says on which thread it was searched."""

    def __init__(self, found: list[tuple[int, float]] | Exception) -> None:
        self.found = found
        self.thread = ""

    def search(self, _query: str, k: int) -> list[tuple[int, float]]:
        self.thread = threading.current_thread().name
        if isinstance(self.found, Exception):
            raise self.found
        return self.found[:k]


def make_index(folder: Path, *vector_indexes: Vectors) -> Any:
    lexical = LexicalIndex.open(folder / "words", writable=True)
    lexical.replace("a.py", [LexicalDocument(1, "close the socket", "", "a.py")])
    lexical.commit()
    store = SimpleNamespace(lexical=lexical)
    return SimpleNamespace(store=store, vector_indexes=vector_indexes)


def test_a_large_index_is_searched_by_several_threads_with_the_same_result(tmp_path: Path) -> None:
    first, second = Vectors([(7, 0.9), (8, 0.8)]), Vectors([(9, 0.7)])
    index, query = make_index(tmp_path, first, second), parse_query("socket")

    one_by_one = search_indexes(index.store, index.vector_indexes, query, 5)
    own = {first.thread, second.thread}
    together = search_indexes(index.store, index.vector_indexes, query, 5, min_parallel_documents=1)

    assert together == one_by_one
    assert [number for number, _ in together[0]] == [1]
    assert together[1] == [[(7, 0.9), (8, 0.8)], [(9, 0.7)]]
    assert own == {threading.current_thread().name}
    assert own.isdisjoint({first.thread, second.thread})


def test_an_error_of_a_vector_index_is_raised_on_the_thread_that_searches(tmp_path: Path) -> None:
    index = make_index(tmp_path, Vectors(ValueError("damaged")), Vectors([]))

    with pytest.raises(ValueError, match="damaged"):
        search_indexes(
            index.store, index.vector_indexes, parse_query("socket"), 5, min_parallel_documents=1
        )
