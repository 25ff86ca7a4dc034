from pathlib import Path

import pytest
from codekernel.domain.index import Chunk, IndexedChunk, IndexedFile
from codekernel.search.boosts import (
    MENTIONED_FILE_BOOST,
    MENTIONED_LINE_BOOST,
    PARTIAL_MENTION_BOOST,
    boost_mentioned,
    find_mentioned_chunks,
)
from codekernel.search.query_parser import parse_query
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.writer import CatalogWriter


def chunk(path: str, begin: int = 0, end: int = 10) -> IndexedChunk:
    return IndexedChunk(1, path, "python", 100, 1, Chunk(begin, end, 0, 1))


@pytest.mark.parametrize(
    ("query", "path", "value"),
    [
        ("src/foo/bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("foo/bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("foo/bar", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("foo/bar", "src/foo/bar/baz.py", PARTIAL_MENTION_BOOST),
        ("/home/me/project/src/foo/bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("other/bar.py", "src/foo/bar.py", PARTIAL_MENTION_BOOST / 2),
        ("Foo/Bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("bar.py", "src/foo/rebar.py", 0.0),
        ("how are bars closed", "src/foo/bar.py", 0.0),
        ("bar.py:5", "src/bar.py", MENTIONED_FILE_BOOST + MENTIONED_LINE_BOOST),
        ("bar.py:10", "src/bar.py", MENTIONED_FILE_BOOST + MENTIONED_LINE_BOOST),
        ("bar.py:11", "src/bar.py", MENTIONED_FILE_BOOST),
    ],
)
def test_a_named_file_speaks_for_its_chunks(query: str, path: str, value: float) -> None:
    assert boost_mentioned(parse_query(query), chunk(path)) == pytest.approx(value)


def test_the_innermost_frame_counts_most() -> None:
    query = parse_query(
        'Traceback (most recent call last):\n  File "/a/main.py", line 3, in run\n'
        '  File "/a/db/session.py", line 42, in close\nValueError: no\n'
    )
    inner = boost_mentioned(query, chunk("db/session.py", 40, 50))
    assert (
        inner
        > boost_mentioned(query, chunk("main.py"))
        > boost_mentioned(query, chunk("db/session.py"))
    )


def test_the_chunks_of_named_files_are_brought_along(tmp_path: Path) -> None:
    writer, catalogue = CatalogWriter(tmp_path / "c.db"), Catalog(tmp_path / "c.db")
    cuts = {100: [(Chunk(line, line + 2, line, line + 2), line) for line in (0, 2, 4)]}
    with writer.begin_batch() as batch:
        for path in ("src/bar.py", "lib/bar.py", "src/other.py"):
            batch.put_file(IndexedFile(path, 6, 5, b"", "python", "utf-8", "abcdef", cuts))
    at_line = find_mentioned_chunks(catalogue, parse_query("src/bar.py:3"))
    assert [(it.path, it.chunk.begin_line) for it in at_line] == [("src/bar.py", 2)]
    assert len(find_mentioned_chunks(catalogue, parse_query("bar.py"))) == 6
    assert find_mentioned_chunks(catalogue, parse_query("how are bars closed")) == []
