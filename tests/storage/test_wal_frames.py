"""The log of SQLite as we read it: the same pages that a recovery would find, and no others."""

import random
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.storage.page_checksums import WAL_FRAME_HEADER_BYTES, WAL_HEADER_BYTES, read_wal

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
    pages = {n: zlib.crc32(content[(n - 1) * size : n * size]) for n in found.checksums}
    assert pages == found.checksums


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
