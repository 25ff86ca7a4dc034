"""Who may open an index, to write or to read, and what is said otherwise."""

from pathlib import Path

import pytest
from codekernel.errors import StorageError
from codekernel.storage.index_examination import CATALOG, find_index_damage
from codekernel.storage.index_store import (
    CATALOG_FILE,
    IndexNotReady,
    open_empty_index,
    open_index,
    open_index_to_read,
    open_index_to_write,
)
from codekernel.storage.process_lock import ProcessLock


def test_one_writes_and_others_read(tmp_path: Path) -> None:
    writing = open_index(tmp_path)
    assert writing.writer
    assert open_index_to_write(tmp_path) is None
    reading = open_index(tmp_path)
    assert reading.writer is None
    assert reading.catalog.count_contents() == (0, 0, 0)
    with pytest.raises(StorageError, match="another codekernel"):
        _ = reading.active_writer
    reading.close()
    assert open_index_to_write(tmp_path) is None  # closing what is read lets nobody write
    writing.close()
    again = open_index_to_write(tmp_path)
    assert again
    again.close()


@pytest.mark.parametrize("is_lock_lost", [False, True])
def test_who_opens_an_index_again_stays_its_writer(tmp_path: Path, *, is_lock_lost: bool) -> None:
    writing = open_index(tmp_path)
    writing.close(keeps_lock=True)
    assert open_index_to_write(tmp_path) is None
    if is_lock_lost:
        (tmp_path / "writer.lock").unlink()
    again = open_index(tmp_path, lock=writing.lock)
    assert again.writer
    assert open_index_to_write(tmp_path) is None
    again.close()


def test_a_folder_in_the_place_of_the_lock_is_moved_out_of_the_way(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "writer.lock").mkdir()
    store = open_index(tmp_path)
    assert store.writer
    assert (tmp_path / "writer.lock.unreadable").is_dir()
    assert "another codekernel" not in caplog.text
    store.close()


@pytest.mark.parametrize("made", ["nothing", "an empty catalog", "a catalog without words"])
def test_what_another_process_has_only_begun_is_not_there_yet(tmp_path: Path, made: str) -> None:
    if made == "a catalog without words":
        open_index(tmp_path).close()
        (tmp_path / "words" / "meta.json").unlink()
    elif made == "an empty catalog":
        (tmp_path / CATALOG_FILE).touch()
    lock = ProcessLock(tmp_path / "writer.lock")
    assert lock.try_acquire()
    with pytest.raises(IndexNotReady, match="another codekernel keeps the index"):
        open_index(tmp_path)
    lock.release()
    open_index(tmp_path).close()
    open_index_to_read(tmp_path).close()


def test_an_empty_index_answers_and_leaves_nothing_behind() -> None:
    with open_empty_index() as store:
        assert store.writer is None
        assert store.catalog.list_files() == {}
        assert store.lexical.search(["word"], 10) == []
        assert store.folder.is_dir()
    assert not store.folder.exists()


# Of a database of SQLite: magic, page size, format, counters, schema format, encoding, versions.
HEADER_BYTES = 100


@pytest.mark.slow
def test_whatever_bit_of_the_header_has_changed_the_index_can_be_opened(tmp_path: Path) -> None:
    open_index(tmp_path).close()
    content = (tmp_path / CATALOG_FILE).read_bytes()
    checksums = (tmp_path / "catalogue.db.sums").read_bytes()
    for place in range(8 * HEADER_BYTES):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        (tmp_path / CATALOG_FILE).write_bytes(damaged)
        (tmp_path / "catalogue.db.sums").write_bytes(checksums)
        store = open_index(tmp_path)  # does not raise
        assert store.catalog.count_contents() == (0, 0, 0)
        store.close()


# The number of the schema's format: one that SQLite does not know is no damage to it.
SCHEMA_FORMAT_OFFSET = 47


@pytest.mark.parametrize("has_checksums", [True, False])
def test_a_format_that_sqlite_does_not_support_is_damage(
    tmp_path: Path, *, has_checksums: bool
) -> None:
    open_index(tmp_path).close()
    content = bytearray((tmp_path / CATALOG_FILE).read_bytes())
    content[SCHEMA_FORMAT_OFFSET] = 77
    (tmp_path / CATALOG_FILE).write_bytes(content)
    if not has_checksums:
        (tmp_path / "catalogue.db.sums").unlink()
    assert [damage.part for damage in find_index_damage(tmp_path)] == [CATALOG]
    store = open_index(tmp_path)
    assert tmp_path / "catalogue.db.unreadable" in store.quarantined
    store.close()
