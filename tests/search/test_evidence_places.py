from pathlib import Path

import pytest

from kernel.domain.chunk import Chunk
from kernel.domain.indexed import IndexedChunk, IndexedFile
from kernel.search.evidence_places import FILE, LINE, PARTLY, mentioned, mentioned_chunks
from kernel.search.query import understood
from kernel.storage.catalogue import Catalogue
from kernel.storage.catalogue_batch import CatalogueWriter


def chunk(path: str, begin: int = 0, end: int = 10) -> IndexedChunk:
    return IndexedChunk(1, path, "python", 100, 1, Chunk(begin, end, 0, 1))


@pytest.mark.parametrize(
    ("query", "path", "value"),
    [
        ("src/foo/bar.py", "src/foo/bar.py", FILE),
        ("foo/bar.py", "src/foo/bar.py", FILE),
        ("bar.py", "src/foo/bar.py", FILE),
        ("foo/bar", "src/foo/bar.py", FILE),
        ("foo/bar", "src/foo/bar/baz.py", PARTLY),
        ("/home/me/project/src/foo/bar.py", "src/foo/bar.py", FILE),
        ("other/bar.py", "src/foo/bar.py", PARTLY / 2),
        ("Foo/Bar.py", "src/foo/bar.py", FILE),
        ("bar.py", "src/foo/rebar.py", 0.0),
        ("how are bars closed", "src/foo/bar.py", 0.0),
        ("bar.py:5", "src/bar.py", FILE + LINE),
        ("bar.py:10", "src/bar.py", FILE + LINE),
        ("bar.py:11", "src/bar.py", FILE),
    ],
)
def test_a_named_file_speaks_for_its_chunks(query: str, path: str, value: float) -> None:
    assert mentioned(understood(query), chunk(path)) == pytest.approx(value)


def test_the_innermost_frame_counts_most() -> None:
    query = understood(
        'Traceback (most recent call last):\n  File "/a/main.py", line 3, in run\n'
        '  File "/a/db/session.py", line 42, in close\nValueError: no\n'
    )
    inner = mentioned(query, chunk("db/session.py", 40, 50))
    assert inner > mentioned(query, chunk("main.py")) > mentioned(query, chunk("db/session.py"))


def test_the_chunks_of_named_files_are_brought_along(tmp_path: Path) -> None:
    writer, catalogue = CatalogueWriter(tmp_path / "c.db"), Catalogue(tmp_path / "c.db")
    cuts = {100: [(Chunk(line, line + 2, line, line + 2), line) for line in (0, 2, 4)]}
    with writer.batch() as batch:
        for path in ("src/bar.py", "lib/bar.py", "src/other.py"):
            batch.put_file(IndexedFile(path, 6, 5, b"", "python", "utf-8", "abcdef", cuts))
    at_line = mentioned_chunks(catalogue, understood("src/bar.py:3"))
    assert [(it.path, it.chunk.begin_line) for it in at_line] == [("src/bar.py", 2)]
    assert len(mentioned_chunks(catalogue, understood("bar.py"))) == 6
    assert mentioned_chunks(catalogue, understood("how are bars closed")) == []
