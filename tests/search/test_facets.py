"""What hits have in common, counted."""

from codekernel.domain.index import IndexedChunk
from codekernel.search.facets import count_facets


def make_chunk(path: str, language: str, symbols: tuple[str, ...]) -> IndexedChunk:
    return IndexedChunk(
        begin=0,
        end=1,
        begin_line=0,
        end_line=1,
        kind="function",
        symbols=symbols,
        signature="",
        defined_names=(),
        id=1,
        path=path,
        language=language,
        max_chunk_chars=100,
        text_hash=1,
    )


def test_hits_are_counted_by_language_folder_kind_and_symbol() -> None:
    found = count_facets(
        [
            make_chunk("src/auth/login.py", "python", ("Session", "close")),
            make_chunk("src/auth/logout.py", "python", ("Session",)),
            make_chunk("tests/test_login.py", "python", ()),
            make_chunk("README.md", "markdown", ()),
        ]
    )
    assert found.total == 4
    assert found.languages == [("python", 3), ("markdown", 1)]
    assert found.folders == [("src/", 2), ("src/auth/", 2), ("tests/", 1)]
    assert found.kinds == [("code", 2), ("test", 1), ("documentation", 1)]
    assert found.symbols == [("Session", 2)]
