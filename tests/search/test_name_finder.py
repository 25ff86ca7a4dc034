"""Files and symbols by a part of their name."""

from pathlib import Path

from codekernel.domain.index import Chunk, IndexedFile
from codekernel.search.name_finder import FoundSymbol, find_file_names, find_symbols
from codekernel.storage.index_store import open_index


def test_the_name_counts_more_than_the_folders_and_code_more_than_tests() -> None:
    paths = ["tests/test_login.py", "login/views.py", "src/login.py", "src/relogin.py", "main.go"]
    found = find_file_names(paths, "login", 10)
    assert found == ["src/login.py", "tests/test_login.py", "src/relogin.py", "login/views.py"]
    assert find_file_names(paths, "lgn", 1) == ["src/login.py"]
    assert find_file_names(paths, "zz", 10) == []


def test_a_symbol_is_found_by_a_part_of_its_name_with_the_line_of_its_definition(
    tmp_path: Path,
) -> None:
    text = "# hello\nclass Session:\n    def close_all(self): pass\n"
    chunk = Chunk(0, 3, 0, len(text), "class", ("Session",), "", ("Session", "close_all"))
    store = open_index(tmp_path / "index")
    with store.active_writer.begin_batch() as batch:
        chunks = {100: [(chunk, 1)]}
        batch.put_file(IndexedFile("a.py", len(text), 1, b"", "python", "utf-8", text, chunks))
    assert find_symbols(store.catalog, "CLOSE", 5) == [FoundSymbol("close_all", "a.py", 2)]
    assert find_symbols(store.catalog, "session.all", 5) == [FoundSymbol("close_all", "a.py", 2)]
    assert find_symbols(store.catalog, "Other.close", 5) == []
    assert find_symbols(store.catalog, "clo%e", 5) == []
    store.close()
