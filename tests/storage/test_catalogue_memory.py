"""What readers remember must never be told once it is no longer so."""

from pathlib import Path

import pytest

from kernel.domain.chunk import Chunk
from kernel.domain.indexed import IndexedFile
from kernel.storage import catalogue_memory
from kernel.storage.catalogue import Catalogue
from kernel.storage.catalogue_batch import CatalogueWriter

LENGTH = 100


def put(writer: CatalogueWriter, path: str, text: str, keys: list[int]) -> list[int]:
    """A file of lines of two characters, a chunk for each of the keys."""
    cut = [(Chunk(n, n + 1, 2 * n, 2 * n + 2), key) for n, key in enumerate(keys)]
    file = IndexedFile(path, len(text), 5, b"", "python", "utf-8", text, {LENGTH: cut})
    with writer.batch() as batch:
        return [number for number, _ in batch.put_file(file)[1]]


@pytest.fixture
def writer(tmp_path: Path) -> CatalogueWriter:
    return CatalogueWriter(tmp_path / "catalogue.db")


@pytest.fixture
def catalogue(tmp_path: Path, writer: CatalogueWriter) -> Catalogue:
    return Catalogue(tmp_path / "catalogue.db")


def test_the_second_answer_is_the_first_one(writer: CatalogueWriter, catalogue: Catalogue) -> None:
    ids = put(writer, "a.py", "a\nb\n", [1, 2])
    assert catalogue.chunks(ids) == catalogue.chunks(ids)
    assert catalogue.chunks(ids)[ids[0]] is catalogue.chunks_with_keys([1])[1][0]
    assert catalogue.contents(ids) == catalogue.contents(ids) == {ids[0]: "a\n", ids[1]: "b\n"}


def test_a_commit_of_the_writer_is_seen_by_the_next_question(
    writer: CatalogueWriter, catalogue: Catalogue
) -> None:
    (number,) = put(writer, "a.py", "a\n", [1])
    assert catalogue.chunks([number])[number].chunk.begin_line == 0
    put(writer, "a.py", "z\na\n", [9, 1])
    moved = catalogue.chunks([number])[number]
    assert moved.chunk.begin_line == 1
    assert catalogue.chunks_with_keys([1, 9])[1] == [moved]
    assert catalogue.contents([number]) == {number: "a\n"}


def test_what_did_not_exist_is_found_once_it_does(
    writer: CatalogueWriter, catalogue: Catalogue
) -> None:
    assert catalogue.chunks([1]) == {}
    assert catalogue.chunks_with_keys([7]) == {}
    assert catalogue.files_at(["a.py"]) == {}
    put(writer, "a.py", "a\n", [7])
    assert list(catalogue.chunks([1])) == [1]
    assert list(catalogue.chunks_with_keys([7])) == [7]
    assert list(catalogue.files_at(["a.py", "b.py"])) == ["a.py"]


def test_what_was_removed_is_no_longer_found(writer: CatalogueWriter, catalogue: Catalogue) -> None:
    ids = put(writer, "a.py", "a\nb\n", [1, 2])
    assert len(catalogue.contents(ids)) == 2
    with writer.batch() as batch:
        batch.remove_file("a.py")
    assert catalogue.contents(ids) == {}
    assert catalogue.chunks_with_keys([1, 2]) == {}
    assert catalogue.files_at(["a.py"]) == {}


def test_a_batch_that_is_not_committed_is_not_seen(
    writer: CatalogueWriter, catalogue: Catalogue
) -> None:
    ids = put(writer, "a.py", "a\n", [1])
    assert catalogue.chunks(ids)
    with writer.batch() as batch:
        batch.remove_file("a.py")
        assert catalogue.chunks(ids)
    assert catalogue.chunks(ids) == {}


def test_texts_of_the_same_key_and_another_length_are_kept_apart(
    writer: CatalogueWriter, catalogue: Catalogue
) -> None:
    (short,) = put(writer, "a.py", "a\n", [1])
    cut = [(Chunk(0, 2, 0, 4), 1)]
    with writer.batch() as batch:
        file = IndexedFile("b.py", 4, 5, b"", "python", "utf-8", "x\na\n", {LENGTH: cut})
        ((long, _),) = batch.put_file(file)[1]
    assert catalogue.contents([short]) == {short: "a\n"}
    assert catalogue.contents([long, short]) == {short: "a\n", long: "x\na\n"}


def test_memory_is_bounded_and_nothing_is_missed(
    writer: CatalogueWriter, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_memory, "MOST_REMEMBERED", 3)
    monkeypatch.setattr(catalogue_memory, "MOST_TEXT", 3)
    text = "".join(f"{n}\n" for n in range(9))
    ids = put(writer, "a.py", text, list(range(9)))
    for _ in range(2):
        for number in ids:
            assert list(catalogue.chunks([number])) == [number]
            assert len(catalogue.contents(ids)) == 9
        assert len(catalogue.chunks_with_keys(list(range(20)))) == 9
