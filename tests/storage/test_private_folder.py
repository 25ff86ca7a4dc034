"""Nobody else on the machine reads what lies in userData."""

import logging
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.runtime.logging_setup import log_to_file
from codekernel.storage.catalog.call_database import connect_calls
from codekernel.storage.catalog.schema import connect_catalog
from codekernel.storage.conversation_files import ConversationFiles, TurnJournalFile
from codekernel.storage.file_locks import ProcessLock
from codekernel.storage.index_store import open_index
from codekernel.storage.safe_files import create_file_atomically, write_bytes_atomically
from codekernel.storage.user_data import (
    create_private_file,
    locate_user_data,
    make_private_folder,
    open_user_data,
    restrict_folder_to_owner,
    restrict_tree_to_owner,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has access lists, not modes")


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """The umask of somebody who shares everything."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(folder: Path) -> list[str]:
    return [str(path) for path in (folder, *folder.rglob("*")) if mode_of(path) & 0o077]


def test_a_new_folder_is_private_and_so_is_what_was_missing_above_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "userData" / "index" / "1")
    assert open_to_others(tmp_path / "userData") == []
    assert mode_of(tmp_path) == 0o755


def test_files_are_private_by_whatever_they_are_written(tmp_path: Path) -> None:
    make_private_folder(tmp_path)
    write_bytes_atomically(tmp_path / "settings.json", b"{}")
    write_bytes_atomically(tmp_path / "conversations" / "conversation-1.json", b"{}")
    create_file_atomically(tmp_path / "vault-id", b"1")
    TurnJournalFile(tmp_path / "conversations" / "unfinished" / "1-2.jsonl").close()
    lock = ProcessLock(tmp_path / "db" / "kernel.lock")
    assert lock.try_acquire()
    for opened in (connect_catalog, connect_calls):
        with closing(opened(tmp_path / f"{opened.__name__}.db")) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("CREATE TABLE kept (value)")
            assert open_to_others(tmp_path) == []  # -wal and -shm are there, too
    lock.release()


def test_a_file_that_is_replaced_becomes_private(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    file.chmod(0o644)
    write_bytes_atomically(file, b"{}")
    assert mode_of(file) == 0o600


def test_a_database_that_others_could_read_becomes_private_and_keeps_its_locks(
    tmp_path: Path,
) -> None:
    file = tmp_path / "catalogue.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as first:
        first.execute("CREATE TABLE kept (value)")
        file.chmod(0o644)
        first.execute("BEGIN EXCLUSIVE")
        create_private_file(file)
        assert mode_of(file) == 0o600
        # Another process: within one, SQLite knows of its own locks without asking the system.
        read = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute(sys.argv[2])"
        done = subprocess.run(
            [sys.executable, "-c", read, file, "SELECT * FROM kept"],
            capture_output=True,
            check=False,
        )
        assert b"locked" in done.stderr


def test_a_closed_index_has_nothing_that_others_may_read(tmp_path: Path) -> None:
    folder = tmp_path / "index" / "1"
    store = open_index(folder)
    store.close()
    assert len(list(folder.rglob("*"))) > 3
    assert open_to_others(tmp_path / "index") == []


def test_folders_of_an_earlier_version_are_closed_where_user_data_itself_is_shared(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o1777)
    for name in ("conversations", "logs"):
        (tmp_path / name).mkdir(mode=0o755)
    ConversationFiles(tmp_path / "conversations").write_history(1, b"{}")
    before = list(logging.getLogger().handlers)
    log_to_file(tmp_path / "logs")
    (handler,) = set(logging.getLogger().handlers) - set(before)
    handler.emit(logging.makeLogRecord({"msg": "the file is made with the first line"}))
    logging.getLogger().removeHandler(handler)
    handler.close()
    assert open_to_others(tmp_path / "conversations") == open_to_others(tmp_path / "logs") == []
    assert mode_of(tmp_path) == 0o1777


def test_a_user_data_folder_that_others_could_enter_is_closed_when_it_is_opened(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "userData"
    folder.mkdir(mode=0o777)
    environ = {"POCKETRAG_USERDATA_PATH": str(folder)}
    locate_user_data(None, environ)
    assert mode_of(folder) == 0o777  # looking changes nothing
    assert open_user_data(None, environ).root == folder
    assert mode_of(folder) == 0o700


def test_a_user_data_folder_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    assert open_user_data(str(tmp_path / "none"), {}).root == tmp_path / "none"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_the_system_shares_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, home = tmp_path / "tmp", tmp_path / "home" / "ada"
    shared.mkdir()
    shared.chmod(0o1777)
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for folder in (shared, home, home.parent):
        before = mode_of(folder)
        assert not restrict_folder_to_owner(folder)
        assert mode_of(folder) == before


def test_everything_below_is_closed_and_links_are_not_followed(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "index", tmp_path / "elsewhere"
    (folder / "words").mkdir(parents=True)
    elsewhere.write_text("")
    elsewhere.chmod(0o644)
    (folder / "words" / "meta.json").write_text("{}")
    (folder / "link").symlink_to(elsewhere)
    restrict_tree_to_owner(folder)
    assert mode_of(folder / "words") == 0o700
    assert mode_of(folder / "words" / "meta.json") == 0o600
    assert mode_of(elsewhere) == 0o644
