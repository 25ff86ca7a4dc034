from pathlib import Path

from codekernel.domain.index import Chunk, IndexedFile
from codekernel.search.query_parser import parse_query
from codekernel.search.retrieval import find_mentioned_chunks
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.writer import CatalogWriter


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
