"""What readers remember must never be told once it is no longer so."""

from pathlib import Path

import pytest
from codekernel.domain.index import Chunk, IndexedFile
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.writer import CatalogWriter

LENGTH = 100


def put(writer: CatalogWriter, path: str, text: str, keys: list[int]) -> list[int]:
    """A file of lines of two characters, a chunk for each of the keys."""
    cut = [(Chunk(n, n + 1, 2 * n, 2 * n + 2), key) for n, key in enumerate(keys)]
    file = IndexedFile(path, len(text), 5, b"", "python", "utf-8", text, {LENGTH: cut})
    with writer.begin_batch() as batch:
        return [number for number, _ in batch.put_file(file)[1]]


@pytest.fixture
def writer(tmp_path: Path) -> CatalogWriter:
    return CatalogWriter(tmp_path / "catalogue.db")


@pytest.fixture
def catalogue(tmp_path: Path, writer: CatalogWriter) -> Catalog:
    return Catalog(tmp_path / "catalogue.db")


def test_the_second_answer_is_the_first_one(writer: CatalogWriter, catalogue: Catalog) -> None:
    ids = put(writer, "a.py", "a\nb\n", [1, 2])
    assert catalogue.find_chunks(ids) == catalogue.find_chunks(ids)
    assert catalogue.find_chunks(ids)[ids[0]] is catalogue.find_chunks_by_key([1])[1][0]
    assert (
        catalogue.read_chunk_texts(ids)
        == catalogue.read_chunk_texts(ids)
        == {ids[0]: "a\n", ids[1]: "b\n"}
    )


def test_a_commit_of_the_writer_is_seen_by_the_next_question(
    writer: CatalogWriter, catalogue: Catalog
) -> None:
    (number,) = put(writer, "a.py", "a\n", [1])
    assert catalogue.find_chunks([number])[number].chunk.begin_line == 0
    put(writer, "a.py", "z\na\n", [9, 1])
    moved = catalogue.find_chunks([number])[number]
    assert moved.chunk.begin_line == 1
    assert catalogue.find_chunks_by_key([1, 9])[1] == [moved]
    assert catalogue.read_chunk_texts([number]) == {number: "a\n"}


def test_what_did_not_exist_is_found_once_it_does(
    writer: CatalogWriter, catalogue: Catalog
) -> None:
    assert catalogue.find_chunks([1]) == {}
    assert catalogue.find_chunks_by_key([7]) == {}
    assert catalogue.find_files(["a.py"]) == {}
    put(writer, "a.py", "a\n", [7])
    assert list(catalogue.find_chunks([1])) == [1]
    assert list(catalogue.find_chunks_by_key([7])) == [7]
    assert list(catalogue.find_files(["a.py", "b.py"])) == ["a.py"]


def test_what_was_removed_is_no_longer_found(writer: CatalogWriter, catalogue: Catalog) -> None:
    ids = put(writer, "a.py", "a\nb\n", [1, 2])
    assert len(catalogue.read_chunk_texts(ids)) == 2
    with writer.begin_batch() as batch:
        batch.remove_file("a.py")
    assert catalogue.read_chunk_texts(ids) == {}
    assert catalogue.find_chunks_by_key([1, 2]) == {}
    assert catalogue.find_files(["a.py"]) == {}


def test_a_batch_that_is_not_committed_is_not_seen(
    writer: CatalogWriter, catalogue: Catalog
) -> None:
    ids = put(writer, "a.py", "a\n", [1])
    assert catalogue.find_chunks(ids)
    with writer.begin_batch() as batch:
        batch.remove_file("a.py")
        assert catalogue.find_chunks(ids)
    assert catalogue.find_chunks(ids) == {}


def test_texts_of_the_same_key_and_another_length_are_kept_apart(
    writer: CatalogWriter, catalogue: Catalog
) -> None:
    (short,) = put(writer, "a.py", "a\n", [1])
    cut = [(Chunk(0, 2, 0, 4), 1)]
    with writer.begin_batch() as batch:
        file = IndexedFile("b.py", 4, 5, b"", "python", "utf-8", "x\na\n", {LENGTH: cut})
        ((long, _),) = batch.put_file(file)[1]
    assert catalogue.read_chunk_texts([short]) == {short: "a\n"}
    assert catalogue.read_chunk_texts([long, short]) == {short: "a\n", long: "x\na\n"}


def test_memory_is_bounded_and_nothing_is_missed(writer: CatalogWriter, catalogue: Catalog) -> None:
    catalogue = Catalog(catalogue.path, max_cached_rows=3, max_cached_text_chars=3)
    text = "".join(f"{n}\n" for n in range(9))
    ids = put(writer, "a.py", text, list(range(9)))
    for _ in range(2):
        for number in ids:
            assert list(catalogue.find_chunks([number])) == [number]
            assert len(catalogue.read_chunk_texts(ids)) == 9
        assert len(catalogue.find_chunks_by_key(list(range(20)))) == 9
    catalogue.close()
