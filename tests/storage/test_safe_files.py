import errno
import logging
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.errors import StorageError
from codekernel.runtime.log_file import log_to_file
from codekernel.storage.catalog.call_database import connect_calls
from codekernel.storage.catalog.rows import connect_catalog
from codekernel.storage.conversation_files import ConversationFiles, TurnJournalFile
from codekernel.storage.index_store import open_index
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.safe_files import (
    create_file_atomically,
    create_private_file,
    explain_os_error,
    make_private_folder,
    remove_stale_temporaries,
    restrict_tree_to_owner,
    write_bytes_atomically,
)
from codekernel.storage.user_data import locate_user_data, open_user_data
from codekernel.storage.user_data_folder import restrict_folder_to_owner

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, links and limits")


def test_a_file_is_written_into_a_folder_made_for_it(tmp_path: Path) -> None:
    path = tmp_path / "conversations" / "conversation-1.json"
    write_bytes_atomically(path, "h\u00e9llo\r\n\n".encode())
    assert path.read_bytes() == "h\u00e9llo\r\n\n".encode()


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write_bytes_atomically(path, b"old" * 1000)
    write_bytes_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    folder_in_the_way = tmp_path / "settings.json"
    (folder_in_the_way / "full").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"settings\.json"):
        write_bytes_atomically(folder_in_the_way, b"new")
    assert list(tmp_path.iterdir()) == [folder_in_the_way]


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="is a file where a folder is needed"):
        write_bytes_atomically(tmp_path / "file" / "settings.json", b"new")


@posix_only
def test_readers_see_the_old_or_the_new_content_and_never_half(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    contents = {b"a" * 100_000, b"b" * 100_000}
    write_bytes_atomically(path, b"a" * 100_000)
    ended = threading.Event()

    def write() -> None:
        for _ in range(20):
            for content in contents:
                write_bytes_atomically(path, content)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set():
        assert path.read_bytes() in contents
    writer.join(60)


@posix_only
def test_the_mode_holds_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    before = os.umask(0)
    try:
        write_bytes_atomically(path, b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix_only
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "settings.json"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_bytes_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_creating_never_replaces(tmp_path: Path) -> None:
    path = tmp_path / "kernel.key"
    assert create_file_atomically(path, b"first")
    assert not create_file_atomically(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@posix_only
def test_creating_works_on_a_file_system_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str, **_: object) -> None:
        raise PermissionError(errno.EPERM, "no links here", source, None, target)

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "kernel.key"
    assert create_file_atomically(path, b"first")
    assert not create_file_atomically(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_creating_where_no_folder_can_be_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="kernel"):
        create_file_atomically(tmp_path / "file" / "kernel.key", b"x")


@posix_only
def test_a_write_cut_short_by_the_system_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    code = """
import resource, sys
from pathlib import Path
from codekernel.errors import StorageError
from codekernel.storage.safe_files import write_bytes_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_bytes_atomically(Path(sys.argv[1]), b"n" * 5000)
except StorageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        text=True,
    )
    assert "ulimit -f" in done.stdout
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


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


@posix_only
def test_a_new_folder_is_private_and_so_is_what_was_missing_above_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "userData" / "index" / "1")
    assert open_to_others(tmp_path / "userData") == []
    assert mode_of(tmp_path) == 0o755


@posix_only
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


@posix_only
def test_a_file_that_is_replaced_becomes_private(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    file.chmod(0o644)
    write_bytes_atomically(file, b"{}")
    assert mode_of(file) == 0o600


@posix_only
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


@posix_only
def test_a_closed_index_has_nothing_that_others_may_read(tmp_path: Path) -> None:
    folder = tmp_path / "index" / "1"
    store = open_index(folder)
    store.close()
    assert len(list(folder.rglob("*"))) > 3
    assert open_to_others(tmp_path / "index") == []


@posix_only
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


@posix_only
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


@posix_only
def test_a_user_data_folder_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    assert open_user_data(str(tmp_path / "none"), {}).root == tmp_path / "none"
    assert list(tmp_path.iterdir()) == []


@posix_only
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


@posix_only
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


PATH = Path("/data/db/kernel.key")


@pytest.mark.parametrize(
    ("code", "phrase"),
    [
        (errno.ENOSPC, "the disk is full: free some space"),
        (errno.EDQUOT, "the disk is full: free some space"),
        (errno.EACCES, "must be able to read and write in"),
        (errno.EPERM, "must be able to read and write in"),
        (errno.EROFS, "read-only disk"),
        (errno.EFBIG, "ulimit -f"),
        (errno.ENOTDIR, "is a file where a folder is needed"),
        (errno.EIO, "check the disk"),
    ],
)
def test_each_refusal_names_the_path_and_says_what_to_do(code: int, phrase: str) -> None:
    message = str(explain_os_error(OSError(code, "refused"), PATH))
    assert str(PATH) in message
    assert phrase in message


def test_an_error_without_a_number_is_explained_too() -> None:
    assert str(PATH) in str(explain_os_error(OSError("odd"), PATH))


def test_temporary_files_of_killed_writers_are_removed_and_nothing_else(tmp_path: Path) -> None:
    stale = tmp_path / ".settings.json.0123456789abcdef.tmp"
    fresh = tmp_path / ".settings.json.fedcba9876543210.tmp"
    kept = [tmp_path / ".settings.json.tmp", tmp_path / "notes.0123456789abcdef.tmp"]
    for path in (stale, fresh, *kept):
        path.write_text("half")
    for path in (stale, *kept):
        os.utime(path, (0, 0))
    remove_stale_temporaries(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([fresh, *kept])
