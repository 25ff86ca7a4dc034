import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import astuple, replace
from pathlib import Path

import pytest
from codekernel.domain.index import Chunk, IndexedFile, SkippedFileRecord
from codekernel.errors import StorageError
from codekernel.storage.catalog import catalog as catalog_module
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.rows import connect_catalog
from codekernel.storage.catalog.writer import CatalogWriter, ChunkChanges
from codekernel.storage.engines import CatalogDamaged

LENGTH = 100
WAIT_TIMEOUT_SECONDS = 60


def chunk(number: int) -> Chunk:
    return Chunk(number, number + 1, 2 * number, 2 * number + 2, symbols=("A", f"f{number}"))


def file(path: str, keys: list[int], text: str = "a\nb\nc\nd\n") -> IndexedFile:
    chunks = [(chunk(number), key) for number, key in enumerate(keys)]
    return IndexedFile(path, len(text), 5, b"digest", "python", "utf-8", text, {LENGTH: chunks})


def put(writer: CatalogWriter, *files: IndexedFile) -> list[ChunkChanges]:
    with writer.begin_batch() as batch:
        return [batch.put_file(one)[1] for one in files]


@pytest.fixture
def writer(tmp_path: Path) -> CatalogWriter:
    return CatalogWriter(tmp_path / "catalogue.db")


@pytest.fixture
def catalog(tmp_path: Path, writer: CatalogWriter) -> Catalog:
    return Catalog(tmp_path / "catalogue.db")


def test_a_file_comes_back_as_it_went_in(writer: CatalogWriter, catalog: Catalog) -> None:
    put(writer, file("src/a.py", [11, 12]))
    known = catalog.list_files()["src/a.py"]
    assert (known.size, known.mtime_ns, known.digest) == (8, 5, b"digest")
    assert catalog.read_document(known.id) == "a\nb\nc\nd\n"
    chunks = catalog.list_chunks(known.id, LENGTH)
    assert [astuple(found)[:8] for found in chunks] == [astuple(chunk(0)), astuple(chunk(1))]
    assert catalog.read_chunk_texts([found.id for found in chunks]) == {
        chunks[0].id: "a\n",
        chunks[1].id: "b\n",
    }


def list_ids(catalog: Catalog, path: str = "a.py") -> dict[int, list[int]]:
    """The ids of the chunks of a file by their keys."""
    ids: dict[int, list[int]] = {}
    for found in catalog.list_chunks(catalog.list_files()[path].id):
        ids.setdefault(found.text_hash, []).append(found.id)
    return ids


def test_a_chunk_whose_text_stays_keeps_its_id(writer: CatalogWriter, catalog: Catalog) -> None:
    put(writer, file("a.py", [1, 2, 3]))
    before = list_ids(catalog)
    put(writer, file("a.py", [9, 1, 3]))
    after = list_ids(catalog)
    assert (after[1], after[3]) == (before[1], before[3])
    assert after[9] not in before.values()


def test_only_chunks_with_other_words_are_to_be_written_again(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    put(writer, file("a.py", [1, 2, 3]))
    ids = list_ids(catalog)
    moved, renamed = replace(chunk(5), symbols=("A", "f1")), replace(chunk(2), symbols=("B",))
    chunks = [(moved, 2), (renamed, 3), (chunk(7), 4)]
    (changes,) = put(writer, replace(file("a.py", []), chunks_by_size={LENGTH: chunks}))
    now = list_ids(catalog)
    assert [found.begin_line for found in catalog.list_chunks(catalog.list_files()["a.py"].id)] == [
        2,
        5,
        7,
    ]
    assert changes.written == [(ids[3][0], renamed, 3), (now[4][0], chunk(7), 4)]
    assert sorted(changes.removed) == sorted([*ids[1], *ids[3]])


def test_a_file_that_was_written_again_as_it_was_changes_no_word(writer: CatalogWriter) -> None:
    put(writer, file("a.py", [1, 7, 7]))
    (changes,) = put(writer, replace(file("a.py", [1, 7, 7]), digest=b"another"))
    assert changes == ChunkChanges()


def test_chunks_of_a_size_that_is_gone_are_to_be_removed(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    put(writer, file("a.py", [1]))
    ids = list_ids(catalog)
    sizes = {2 * LENGTH: [(chunk(0), 1)]}
    (changes,) = put(writer, replace(file("a.py", []), chunks_by_size=sizes))
    assert changes.removed == ids[1]
    assert [key for _, _, key in changes.written] == [1]


def test_a_file_with_a_new_digest_keeps_its_id(writer: CatalogWriter, catalog: Catalog) -> None:
    put(writer, file("a.py", [1]))
    before = catalog.list_files()["a.py"]
    put(writer, replace(file("a.py", [1]), digest=b"another"))
    assert catalog.list_files()["a.py"] == replace(before, digest=b"another")


def test_equal_chunks_of_one_file_keep_their_ids_apart(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    put(writer, file("a.py", [7, 7]))
    before = list_ids(catalog)[7]
    put(writer, file("a.py", [7, 7]))
    assert list_ids(catalog)[7] == before
    assert len(set(before)) == 2


def test_a_key_leads_to_every_file_that_holds_its_text(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    put(writer, file("a.py", [1]), file("copy.py", [1, 2]))
    found = catalog.find_chunks_by_key([1, 2, 3])
    assert {key: [chunk.path for chunk in chunks] for key, chunks in found.items()} == {
        1: ["a.py", "copy.py"],
        2: ["copy.py"],
    }


def test_a_removed_file_takes_its_chunks_and_its_text_along(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    ((number, _, _),) = put(writer, file("a.py", [1]))[0].written
    file_id = catalog.list_files()["a.py"].id
    with writer.begin_batch() as batch:
        batch.remove_file("a.py")
    assert catalog.find_chunks([number]) == {}
    assert catalog.read_document(file_id) == ""
    assert catalog.count_contents() == (0, 0, 0)


def test_a_batch_that_fails_leaves_nothing(writer: CatalogWriter, catalog: Catalog) -> None:
    def fail_half_way() -> None:
        with writer.begin_batch() as batch:
            batch.put_file(file("a.py", [1]))
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail_half_way()
    assert catalog.list_files() == {}
    put(writer, file("b.py", [1]))
    assert list(catalog.list_files()) == ["b.py"]


def test_a_reader_sees_the_last_commit_while_a_batch_is_open(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    put(writer, file("a.py", [1]))
    with writer.begin_batch() as batch:
        batch.put_file(file("b.py", [2]))
        assert list(catalog.list_files()) == ["a.py"]
    assert sorted(catalog.list_files()) == ["a.py", "b.py"]


def test_a_refused_file_is_not_an_indexed_one_any_more(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    put(writer, file("a.bin", [1]))
    refusal = SkippedFileRecord("a.bin", "binary", "it has NUL bytes", 8, 6)
    with writer.begin_batch() as batch:
        batch.put_skipped(refusal)
    assert catalog.find_file("a.bin") is None
    assert catalog.find_skipped("a.bin") == refusal
    assert catalog.count_skipped_by_reason() == {"binary": 1}
    put(writer, file("a.bin", [1]))
    assert catalog.list_skipped() == {}


def test_any_file_name_and_any_text_survive(writer: CatalogWriter, catalog: Catalog) -> None:
    name, text = "caf\udce9/\U0001f600 \ud800.py", "half \ud800 a character\n\0"
    put(writer, file(name, [1], text))
    assert catalog.read_document(catalog.list_files()[name].id) == text


def test_files_under_a_folder_are_not_those_of_a_folder_with_a_longer_name(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    put(writer, file("src/a.py", [1]), file("src/x/b.py", [1]), file("src2/c.py", [1]))
    assert sorted(catalog.list_files_under("src")) == ["src/a.py", "src/x/b.py"]


def test_files_that_lack_a_cut_are_found(writer: CatalogWriter, catalog: Catalog) -> None:
    put(writer, file("a.py", [1]), file("b.py", [2]), file("__init__.py", [], text=""))
    ids = {path: known.id for path, known in catalog.list_files().items()}
    with writer.begin_batch() as batch:
        batch.put_chunks(ids["a.py"], 200, [(chunk(0), 5)], ChunkChanges())
    assert catalog.list_unchunked_files(200) == [ids["b.py"]]
    assert catalog.list_chunk_sizes() == [LENGTH, 200]
    with writer.begin_batch() as batch:
        batch.delete_chunks(LENGTH)
    assert catalog.list_chunk_sizes() == [200]


def test_thousands_of_ids_are_asked_for_at_once(writer: CatalogWriter, catalog: Catalog) -> None:
    (changes,) = put(writer, file("a.py", list(range(2000))))
    assert len(catalog.find_chunks([number for number, _, _ in changes.written])) == 2000


def test_pending_files_are_remembered_until_both_indexes_agree(writer: CatalogWriter) -> None:
    put(writer, file("a.py", [1]), file("b.py", [2]))
    with writer.begin_batch() as batch:
        batch.mark_pending(["c.py"])
        batch.mark_all_pending()
    assert sorted(writer.list_pending()) == ["a.py", "b.py", "c.py"]
    with writer.begin_batch() as batch:
        batch.clear_pending(["a.py", "c.py"])
    assert writer.list_pending() == ["b.py"]


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    with pytest.raises(CatalogDamaged, match="damaged"):
        CatalogWriter(path)


def test_a_catalog_of_another_version_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    CatalogWriter(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(CatalogDamaged, match="format 99"):
        CatalogWriter(path)


def test_a_closed_catalog_says_so(catalog: Catalog) -> None:
    catalog.close()
    with pytest.raises(StorageError, match="closed"):
        catalog.list_files()


def test_no_reader_is_opened_once_a_catalog_is_closed(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another database may lie at its path by then."""
    is_opening, may_open = threading.Event(), threading.Event()

    def connect_slowly(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
        is_opening.set()
        may_open.wait(WAIT_TIMEOUT_SECONDS)
        return connect_catalog(path, read_only=read_only)

    monkeypatch.setattr(catalog_module, "connect_catalog", connect_slowly)
    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(catalog.count_contents)
        assert is_opening.wait(WAIT_TIMEOUT_SECONDS)
        closing = pool.submit(catalog.close)
        assert not wait([closing], 0.2).done
        may_open.set()
        closing.result(WAIT_TIMEOUT_SECONDS)
        assert reading.result(WAIT_TIMEOUT_SECONDS) == (0, 0, 0)


def test_the_first_refused_files_come_by_path_with_the_number_of_all(
    writer: CatalogWriter, catalog: Catalog
) -> None:
    assert catalog.list_first_skipped(5) == ([], 0)
    refused = [
        SkippedFileRecord(path, "ignored", "a rule", 0, 0) for path in ("b/", "c.py", "a.py")
    ]
    with writer.begin_batch() as batch:
        for one in refused:
            batch.put_skipped(one)
    found, total = catalog.list_first_skipped(2)
    assert [each.path for each in found] == ["a.py", "b/"]
    assert total == 3
    assert catalog.list_first_skipped(9)[0] == sorted(refused, key=lambda each: each.path)


def test_the_log_of_a_catalog_that_is_gone_is_not_read_into_a_new_one(tmp_path: Path) -> None:
    old, path = tmp_path / "old.db", tmp_path / "catalogue.db"
    with closing(CatalogWriter(old)) as writer:
        with writer.begin_batch() as batch:
            batch.mark_pending(["left.py"])
        shutil.copyfile(f"{old}-wal", f"{path}-wal")
    with closing(CatalogWriter(path)) as fresh:
        assert fresh.list_pending() == []
        fresh.verify()
