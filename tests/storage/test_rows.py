"""What readers remember must never be told once it is no longer so."""

from pathlib import Path

import pytest
from codekernel.domain.index import Chunk, IndexedFile
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.writer import CatalogWriter

LENGTH = 100


def put(writer: CatalogWriter, path: str, text: str, keys: list[int]) -> list[int]:
    """A file of lines of two characters, a chunk for each of the keys."""
    chunks = [(Chunk(n, n + 1, 2 * n, 2 * n + 2), key) for n, key in enumerate(keys)]
    file = IndexedFile(path, len(text), 5, b"", "python", "utf-8", text, {LENGTH: chunks})
    with writer.begin_batch() as batch:
        return [number for number, _, _ in batch.put_file(file)[1].written]


@pytest.fixture
def writer(tmp_path: Path) -> CatalogWriter:
    return CatalogWriter(tmp_path / "catalogue.db")


@pytest.fixture
def catalog(tmp_path: Path, writer: CatalogWriter) -> Catalog:
    return Catalog(tmp_path / "catalogue.db")


def test_the_second_answer_is_the_first_one(writer: CatalogWriter, catalog: Catalog) -> None:
    ids = put(writer, "a.py", "a\nb\n", [1, 2])
    assert catalog.find_chunks(ids) == catalog.find_chunks(ids)
    assert catalog.find_chunks(ids)[ids[0]] is catalog.find_chunks_by_key([1])[1][0]
    assert (
        catalog.read_chunk_texts(ids)
        == catalog.read_chunk_texts(ids)
        == {ids[0]: "a\n", ids[1]: "b\n"}
    )


def test_a_commit_of_the_writer_is_seen_by_the_next_question(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    (number,) = put(writer, "a.py", "a\n", [1])
    assert catalog.find_chunks([number])[number].begin_line == 0
    put(writer, "a.py", "z\na\n", [9, 1])
    moved = catalog.find_chunks([number])[number]
    assert moved.begin_line == 1
    assert catalog.find_chunks_by_key([1, 9])[1] == [moved]
    assert catalog.read_chunk_texts([number]) == {number: "a\n"}


def test_what_did_not_exist_is_found_once_it_does(writer: CatalogWriter, catalog: Catalog) -> None:
    assert catalog.find_chunks([1]) == {}
    assert catalog.find_chunks_by_key([7]) == {}
    assert catalog.find_files(["a.py"]) == {}
    put(writer, "a.py", "a\n", [7])
    assert list(catalog.find_chunks([1])) == [1]
    assert list(catalog.find_chunks_by_key([7])) == [7]
    assert list(catalog.find_files(["a.py", "b.py"])) == ["a.py"]


def test_what_was_removed_is_no_longer_found(writer: CatalogWriter, catalog: Catalog) -> None:
    ids = put(writer, "a.py", "a\nb\n", [1, 2])
    assert len(catalog.read_chunk_texts(ids)) == 2
    with writer.begin_batch() as batch:
        batch.remove_file("a.py")
    assert catalog.read_chunk_texts(ids) == {}
    assert catalog.find_chunks_by_key([1, 2]) == {}
    assert catalog.find_files(["a.py"]) == {}


def test_a_batch_that_is_not_committed_is_not_seen(writer: CatalogWriter, catalog: Catalog) -> None:
    ids = put(writer, "a.py", "a\n", [1])
    assert catalog.find_chunks(ids)
    with writer.begin_batch() as batch:
        batch.remove_file("a.py")
        assert catalog.find_chunks(ids)
    assert catalog.find_chunks(ids) == {}


def test_texts_of_the_same_key_and_another_length_are_kept_apart(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    (short,) = put(writer, "a.py", "a\n", [1])
    chunks = [(Chunk(0, 2, 0, 4), 1)]
    with writer.begin_batch() as batch:
        file = IndexedFile("b.py", 4, 5, b"", "python", "utf-8", "x\na\n", {LENGTH: chunks})
        ((long, _, _),) = batch.put_file(file)[1].written
    assert catalog.read_chunk_texts([short]) == {short: "a\n"}
    assert catalog.read_chunk_texts([long, short]) == {short: "a\n", long: "x\na\n"}


def test_memory_is_bounded_and_nothing_is_missed(writer: CatalogWriter, catalog: Catalog) -> None:
    catalog = Catalog(catalog.path, max_cached_rows=3, max_cached_text_chars=3)
    text = "".join(f"{n}\n" for n in range(9))
    ids = put(writer, "a.py", text, list(range(9)))
    for _ in range(2):
        for number in ids:
            assert list(catalog.find_chunks([number])) == [number]
            assert len(catalog.read_chunk_texts(ids)) == 9
        assert len(catalog.find_chunks_by_key(list(range(20)))) == 9
    catalog.close()
