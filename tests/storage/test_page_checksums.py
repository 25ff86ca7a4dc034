"""Pages of the catalog and their checksums: whatever changes is noticed, whoever was killed."""

import os
import random
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from codekernel.domain.index import IndexedFile
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.catalog.writer import CatalogWriter
from codekernel.storage.engines import CatalogDamaged
from codekernel.storage.index_store import open_index
from codekernel.storage.page_checksums import (
    WAL_FRAME_HEADER_BYTES,
    WAL_HEADER_BYTES,
    PageChecksums,
    read_wal,
)

FILES = 30


def put(writer: CatalogWriter, number: int) -> None:
    text = f"text {number} " * 300
    file = IndexedFile(
        f"f{number}.py", len(text), number, bytes([number % 256]) * 16, "python", "utf-8", text, {}
    )
    with writer.begin_batch() as batch:
        batch.put_file(file)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "catalogue.db"
    writer = CatalogWriter(path)
    for number in range(FILES):
        put(writer, number)
    writer.close()
    return path


def test_a_catalog_that_was_closed_has_a_sum_for_each_page_and_no_log(path: Path) -> None:
    assert not path.with_name("catalogue.db-wal").exists()
    assert PageChecksums(path).verify()


def test_any_flipped_bit_is_noticed(path: Path) -> None:
    chance = random.Random(2)  # noqa: S311
    content = path.read_bytes()
    for _ in range(60):
        damaged = bytearray(content)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(CatalogDamaged, match="damaged"):
            PageChecksums(path).verify()


@pytest.mark.parametrize("size", [-1, -4096, 5000, 0])
def test_another_size_is_noticed(path: Path, size: int) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:size] if size <= 0 else content + b"x" * size)
    with pytest.raises(CatalogDamaged):
        PageChecksums(path).verify()


def test_a_kill_at_any_moment_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "live" / "catalogue.db"
    path.parent.mkdir()
    writer = CatalogWriter(path, max_wal_bytes=20_000)  # the log is moved often
    for number in range(FILES):
        put(writer, number)
        copy = tmp_path / f"copy{number}"
        shutil.copytree(path.parent, copy)
        PageChecksums(copy / path.name).verify()
        again = CatalogWriter(copy / path.name)
        again.verify()
        again.close()
        assert PageChecksums(copy / path.name).verify()
        assert Catalog(copy / path.name).count_contents()[0] == number + 1
    writer.close()


def test_a_page_that_moved_while_its_sum_was_not_written_agrees_with_the_log(path: Path) -> None:
    writer = CatalogWriter(path)
    sums = path.with_name("catalogue.db.sums").read_bytes()
    put(writer, 99)
    writer._database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    assert path.with_name("catalogue.db.sums").read_bytes() == sums
    assert PageChecksums(path).verify()
    writer.close()


@contextmanager
def read_meanwhile(path: Path) -> Iterator[None]:
    """Within the block, a search needs the rows as they are now."""
    with (
        closing(Catalog(path)) as catalog,
        closing(catalog.iterate_documents(lambda *_: True)) as rows,
    ):
        next(rows)
        yield


def write_beside_a_search(path: Path, writer: CatalogWriter) -> dict[int, int]:
    """Have a log of which a search needs the end; returns the pages that were moved."""
    log = path.with_name("catalogue.db-wal")
    for number in range(FILES, 3 * FILES):
        put(writer, number)
    moved = read_wal(log).frames
    with read_meanwhile(path):
        for number in range(3 * FILES, 4 * FILES):
            put(writer, number)
        writer.checkpoint()
    return read_wal(log).find_written(moved)


def test_a_log_that_a_search_needs_is_moved_in_part_and_the_sums_with_it(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(CatalogWriter(path)) as writer:
        write_beside_a_search(path, writer)
        assert PageChecksums(path).verify()
        writer.checkpoint()
        assert PageChecksums(path).verify()
    assert PageChecksums(path).verify()
    assert caplog.text == ""


def test_a_kill_after_a_log_was_moved_in_part_is_no_damage(path: Path) -> None:
    sums = path.with_name("catalogue.db.sums")
    before = sums.read_bytes()
    with closing(CatalogWriter(path)) as writer:
        write_beside_a_search(path, writer)
        sums.write_bytes(before)  # the process was killed between moving pages and their sums
        assert PageChecksums(path).verify()


def test_what_closing_moves_after_a_search_has_ended_is_no_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = CatalogWriter(path)
    put(writer, FILES)
    searching = ExitStack()
    searching.enter_context(read_meanwhile(path))
    put(writer, FILES + 1)
    checkpoint = PageChecksums.checkpoint

    def end_search_after(sums: PageChecksums, connection: sqlite3.Connection) -> None:
        checkpoint(sums, connection)
        searching.close()

    monkeypatch.setattr(PageChecksums, "checkpoint", end_search_after)
    writer.close()
    assert not path.with_name("catalogue.db-wal").exists()
    assert PageChecksums(path).verify()


def test_what_a_search_still_reads_when_the_catalog_is_closed_is_no_damage(path: Path) -> None:
    writer = CatalogWriter(path)
    put(writer, FILES)
    with read_meanwhile(path):
        put(writer, FILES + 1)
        writer.close()
        assert PageChecksums(path).verify()
    with closing(CatalogWriter(path)) as again:
        again.verify()
        assert Catalog(path).count_contents()[0] == FILES + 2


def test_a_page_that_is_not_what_was_written_is_damage(path: Path) -> None:
    with closing(CatalogWriter(path)) as writer:
        page = max(write_beside_a_search(path, writer))
        with path.open("r+b") as file:
            file.seek((page - 1) * 4096 + 100)
            file.write(b"never committed")
        with pytest.raises(CatalogDamaged, match="not what was written"):
            writer.checkpoint()


def test_a_log_that_is_damaged_while_it_is_in_use_is_not_taken_for_right(path: Path) -> None:
    writer = CatalogWriter(path)
    put(writer, 99)
    log = path.with_name("catalogue.db-wal")
    content = bytearray(log.read_bytes())
    content[3000] ^= 1
    with log.open("r+b") as file:
        file.write(content)
    with pytest.raises(CatalogDamaged, match="log"):
        writer.checkpoint()


def test_a_catalog_made_before_there_were_sums_is_taken_over(path: Path) -> None:
    path.with_name("catalogue.db.sums").unlink()
    assert not PageChecksums(path).verify()
    writer = CatalogWriter(path)
    writer.verify()
    writer.close()
    assert PageChecksums(path).verify()


def test_sums_that_are_damaged_themselves_are_made_anew(path: Path) -> None:
    sums = path.with_name("catalogue.db.sums")
    content = bytearray(sums.read_bytes())
    content[40] ^= 1
    sums.write_bytes(content)
    writer = CatalogWriter(path)
    writer.verify()
    writer.close()
    assert PageChecksums(path).verify()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_in_the_place_of_the_log_is_not_waited_for(path: Path) -> None:
    writer = CatalogWriter(path)
    put(writer, 99)
    log = path.with_name("catalogue.db-wal")
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(CatalogDamaged, match="log"):
        writer.checkpoint()
    writer.close()


@pytest.mark.parametrize("page", range(1, 12))
def test_a_page_of_zeros_anywhere_does_not_stop_the_opening(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek(page * 4096)
        file.write(bytes(4096))
    store = open_index(path.parent)
    store.close()
    assert store.read_only_reason == ""


ROWS = 60


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A database with a log that is not moved into it, as a killed process leaves it."""
    source = tmp_path / "source.db"
    with closing(sqlite3.connect(source, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 0")
        database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)")
        for number in range(ROWS):
            database.execute("INSERT INTO t VALUES (?, ?)", (number, bytes([number]) * 900))
        for name in ("copy.db", "copy.db-wal"):
            shutil.copy(tmp_path / name.replace("copy", "source"), tmp_path / name)
    return tmp_path / "copy.db-wal"


def rows_after_recovery(log: Path) -> int:
    with closing(sqlite3.connect(log.with_name("copy.db"))) as database:
        return len(database.execute("SELECT a FROM t").fetchall())


def test_every_page_of_a_whole_log_is_found_as_it_will_be_in_the_database(log: Path) -> None:
    found = read_wal(log)
    assert found.frames == (log.stat().st_size - WAL_HEADER_BYTES) // (found.page_size + 24)
    with closing(sqlite3.connect(log.with_name("copy.db"), isolation_level=None)) as database:
        frames = database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
        assert frames == found.frames
        content = log.with_name("copy.db").read_bytes()
    size = found.page_size
    written = found.find_written(found.frames)
    assert written == {n: zlib.crc32(content[(n - 1) * size : n * size]) for n in written}


def test_a_changed_bit_ends_the_log_where_a_recovery_ends_it(log: Path) -> None:
    chance = random.Random(1)  # noqa: S311
    content = log.read_bytes()
    whole = read_wal(log).frames
    for _ in range(20):
        place = chance.randrange(WAL_HEADER_BYTES, len(content))
        damaged = bytearray(content)
        damaged[place] ^= 1 << chance.randrange(8)
        log.write_bytes(damaged)
        found = read_wal(log)
        frame = (place - WAL_HEADER_BYTES) // (WAL_FRAME_HEADER_BYTES + found.page_size)
        assert found.frames <= frame < whole
    assert rows_after_recovery(log) < ROWS


@pytest.mark.parametrize("content", [b"", b"short", b"\0" * 5000, bytes(range(256)) * 40])
def test_what_is_no_log_has_no_pages(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x-wal"
    path.write_bytes(content)
    assert read_wal(path).frames == 0
    assert read_wal(tmp_path / "nothing").frames == 0
