import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from codekernel.adapters.hub.database import HubDatabase


def test_a_part_runs_each_statement_once(tmp_path: Path) -> None:
    first = ("CREATE TABLE chat (id TEXT PRIMARY KEY) STRICT",)
    database = HubDatabase(tmp_path)
    database.migrate("chats", first)
    database.migrate("chats", (*first, "ALTER TABLE chat ADD COLUMN name TEXT"))
    database.close()

    again = HubDatabase(tmp_path)
    again.migrate("chats", (*first, "ALTER TABLE chat ADD COLUMN name TEXT"))
    with again.write() as connection:
        connection.execute("INSERT INTO chat VALUES ('a', 'b')")
    with again.read() as connection:
        assert connection.execute("SELECT * FROM chat").fetchall() == [("a", "b")]
    again.close()


def test_parts_do_not_know_each_other(tmp_path: Path) -> None:
    database = HubDatabase(tmp_path)
    database.migrate("lark", ("CREATE TABLE lark_chat (id TEXT) STRICT",))
    database.migrate("telegram", ("CREATE TABLE telegram_chat (id TEXT) STRICT",))
    with database.read() as connection:
        rows = connection.execute("SELECT part, version FROM migration ORDER BY part").fetchall()
    assert rows == [("lark", 1), ("telegram", 1)]
    database.close()


def test_an_older_hub_leaves_the_tables_of_a_newer_one(tmp_path: Path) -> None:
    database = HubDatabase(tmp_path)
    both = ("CREATE TABLE a (id TEXT) STRICT", "CREATE TABLE b (id TEXT) STRICT")
    database.migrate("part", both)
    database.migrate("part", both[:1])
    database.migrate("part", both)
    with database.read() as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    database.close()
    assert {"a", "b"} <= {name for (name,) in found}


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    database = HubDatabase(tmp_path)
    database.migrate("part", ("CREATE TABLE a (id TEXT) STRICT",))

    def insert_and_fail() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO a VALUES ('x')")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        insert_and_fail()
    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM a").fetchone() == (0,)
    database.close()


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    one, other = HubDatabase(tmp_path), HubDatabase(tmp_path)
    for each in (one, other):
        each.migrate("part", ("CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT",))

    def insert(database: HubDatabase) -> None:
        for _ in range(50):
            with database.write() as connection:
                connection.execute("INSERT INTO a DEFAULT VALUES")

    threads = [threading.Thread(target=insert, args=(each,)) for each in (one, other, one)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with one.read() as connection:
        assert connection.execute("SELECT count(*) FROM a").fetchone() == (150,)
    one.close()
    other.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    database = HubDatabase(tmp_path)
    assert stat.S_IMODE(database.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(database.path.parent.stat().st_mode) == 0o700
    database.close()


def test_a_damaged_database_is_moved_aside(tmp_path: Path) -> None:
    HubDatabase(tmp_path).close()
    path = tmp_path / "hub" / "hub.db"
    path.write_bytes(b"no database" * 1000)
    database = HubDatabase(tmp_path)
    database.migrate("part", ("CREATE TABLE a (id TEXT) STRICT",))
    database.close()
    assert [each for each in path.parent.iterdir() if ".unreadable" in each.name]
    assert sqlite3.connect(path).execute("SELECT count(*) FROM a").fetchone() == (0,)
