import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from codekernel.errors import KernelError, StorageError
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import Vault
from storage.vault_contents import (
    OpenVault,
    names,
    put,
    quarantined_files_count,
)

PROJECT = Path(__file__).parents[2]

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, names and limits")


def test_nothing_is_opened_before_it_is_needed(user_data: UserData, vault: Vault) -> None:
    assert not user_data.root.exists()
    vault.close()
    assert not user_data.root.exists()


def test_what_is_committed_is_there_after_reopening(vault: Vault) -> None:
    put(vault, "a")
    vault.close()
    assert names(vault) == ["a"]


def test_the_database_is_set_up_for_safety(vault: Vault) -> None:
    with vault.read_connection() as database:
        pragmas = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        values = [database.execute(f"PRAGMA {pragma}").fetchone() for pragma in pragmas]
    assert values == [("wal",), (2,), (1,), (20,)]


def test_an_exception_rolls_back(vault: Vault) -> None:
    def write_and_fail() -> None:
        with vault.transaction() as database:
            database.execute("INSERT INTO api_key VALUES ('a', 'b')")
            raise LookupError

    with pytest.raises(LookupError):
        write_and_fail()
    assert names(vault) == []
    put(vault, "c")
    assert names(vault) == ["c"]


def test_a_statement_that_is_refused_rolls_back_and_becomes_a_sentence(vault: Vault) -> None:
    put(vault, "a", "first-secret")

    def write_a_new_and_a_taken_name() -> None:
        with vault.transaction() as database:
            database.execute("INSERT INTO api_key VALUES ('b', 'second-secret')")
            database.execute("INSERT INTO api_key VALUES ('a', 'second-secret')")

    with pytest.raises(StorageError, match="SQLITE_CONSTRAINT") as refusal:
        write_a_new_and_a_taken_name()
    assert "second-secret" not in str(refusal.value)
    assert names(vault) == ["a"]


def test_a_transaction_inside_another_is_refused_and_does_not_hang(vault: Vault) -> None:
    def nest() -> None:
        with vault.transaction() as database:
            database.execute("INSERT INTO api_key VALUES ('a', 'b')")
            with vault.transaction():
                raise NotImplementedError

    with pytest.raises(StorageError):
        nest()
    assert names(vault) == []


def test_a_value_of_no_known_kind_is_a_sentence(vault: Vault) -> None:
    with pytest.raises(StorageError, match="InterfaceError"), vault.read_connection() as database:
        database.execute("SELECT ?", (object(),))


def test_threads_take_turns(vault: Vault) -> None:
    start = threading.Barrier(8)

    def write(number: int) -> None:
        start.wait(5)
        for round_ in range(10):
            put(vault, f"{number}-{round_}")
            names(vault)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(names(vault)) == 80


@posix_only
def test_only_the_owner_may_look_at_it(user_data: UserData, vault: Vault) -> None:
    before = os.umask(0)
    try:
        put(vault, "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE(user_data.database_folder.stat().st_mode) == 0o700
    for suffix in ("", "-wal", "-shm"):
        path = user_data.database_file.with_name(f"kernel.db{suffix}")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix_only
def test_a_database_folder_open_to_others_is_closed(user_data: UserData, vault: Vault) -> None:
    user_data.database_folder.mkdir(parents=True, mode=0o755)
    put(vault, "a")
    assert stat.S_IMODE(user_data.database_folder.stat().st_mode) == 0o700


@posix_only
def test_the_folder_may_have_any_name(tmp_path: Path, environ: dict[str, str]) -> None:
    root = tmp_path / "100% odd?#&" / os.fsdecode(b"caf\xe9")
    vault = Vault(UserData(root), environ, may_quarantine=lambda: True)
    put(vault, "a")
    vault.close()
    assert names(vault) == ["a"]
    vault.close()


def test_a_locked_database_is_an_error_now_and_works_later(
    user_data: UserData, open_vault: OpenVault
) -> None:
    vault, other = open_vault(), open_vault()
    put(vault, "a")
    with other.transaction():
        with pytest.raises(StorageError, match="another process is writing"):
            put(vault, "b")
        assert names(vault) == ["a"]
    put(vault, "b")
    assert names(vault) == ["a", "b"]
    assert quarantined_files_count(user_data) == 0


def test_a_database_locked_from_the_start_is_not_quarantined(
    user_data: UserData, open_vault: OpenVault
) -> None:
    other = open_vault()
    put(other, "a")
    with other.read_connection() as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
    put(other, "b")
    vault = open_vault()
    with pytest.raises(StorageError, match="another process is writing"):
        names(vault)
    other.close()
    assert names(vault) == ["a", "b"]
    assert quarantined_files_count(user_data) == 0


def test_a_full_disk_is_said_so_and_loses_nothing(vault: Vault) -> None:
    put(vault, "a")

    def write_more_than_fits() -> None:
        with vault.transaction() as database:
            database.execute("PRAGMA max_page_count = 1")  # SQLite's own way to be full
            for number in range(100):
                database.execute("INSERT INTO api_key VALUES (?, ?)", (f"{number}", "x" * 3000))

    with pytest.raises(StorageError, match="the disk is full: free some space"):
        write_more_than_fits()
    assert names(vault) == ["a"]
    put(vault, "b")
    assert names(vault) == ["a", "b"]


@posix_only
def test_a_disk_that_stops_taking_bytes_loses_nothing(
    user_data: UserData, environ: dict[str, str], vault: Vault
) -> None:
    put(vault, "a")
    vault.close()
    code = """
import os, resource, sys
from pathlib import Path
from codekernel.errors import StorageError
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import Vault
vault = Vault(UserData(Path(sys.argv[1])), os.environ, may_quarantine=lambda: True)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    for number in range(1000):
        with vault.transaction() as database:
            database.execute("INSERT INTO api_key VALUES (?, ?)", (f"n{number}", "x" * 3000))
        print(number, flush=True)
except StorageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(user_data.root)],
        cwd=PROJECT,
        env=environ,
        capture_output=True,
        check=True,
        text=True,
    )
    *committed, message = done.stdout.splitlines()
    assert "could not be used" in message
    assert done.stderr == ""
    assert set(names(vault)) == {"a", *(f"n{number}" for number in committed)}
    put(vault, "b")
    assert quarantined_files_count(user_data) == 0


def test_a_database_that_may_not_be_written_is_explained(vault: Vault) -> None:
    with vault.read_connection() as database:
        database.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageError, match="read-only"):
        put(vault, "a")
    put(vault, "b")
    assert names(vault) == ["b"]


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "file").write_bytes(b"")
    vault = Vault(UserData(tmp_path / "file" / "data"), environ, may_quarantine=lambda: True)
    with pytest.raises(StorageError, match="is a file where a folder is needed"):
        names(vault)


def test_a_folder_in_the_databases_place_is_quarantined(user_data: UserData, vault: Vault) -> None:
    user_data.database_file.mkdir(parents=True)
    assert names(vault) == []
    (aside,) = user_data.database_folder.glob("kernel.db.unreadable-*")
    assert aside.is_dir()


@posix_only
@pytest.mark.skipif(os.name != "nt" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_explained(user_data: UserData, vault: Vault) -> None:
    user_data.root.mkdir(mode=0o500)
    with pytest.raises(StorageError, match="must be able to read and write"):
        names(vault)


def test_processes_that_make_the_vault_at_once_share_it(user_data: UserData) -> None:
    code = """
import sys
from pathlib import Path
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import Vault
vault = Vault(UserData(Path(sys.argv[1])), {}, may_quarantine=lambda: False)
print("ready", flush=True)
sys.stdin.readline()
with vault.transaction() as database:
    database.execute("INSERT INTO api_key VALUES (?, 'x')", (sys.argv[2],))
vault.close()
"""
    environ = {**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(user_data.root), name],
            cwd=PROJECT,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in "abcd"
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert errors == ["", "", "", ""]
    vault = Vault(user_data, {}, may_quarantine=lambda: False)
    assert names(vault) == ["a", "b", "c", "d"]
    vault.close()


def test_a_vault_whose_key_is_gone_is_quarantined_and_can_be_renamed_back(
    user_data: UserData, caplog: pytest.LogCaptureFixture
) -> None:
    vault = Vault(user_data, {}, may_quarantine=lambda: True)
    put(vault, "a")
    vault.close()
    key = user_data.key_file.read_bytes()
    user_data.key_file.unlink()
    assert names(vault) == []
    assert "its key is not to be found" in caplog.text
    vault.close()
    (aside,) = user_data.database_folder.glob("kernel.db.unreadable-*")
    aside.replace(user_data.database_file)
    user_data.key_file.write_bytes(key)
    assert names(vault) == ["a"]
    vault.close()


def test_a_command_that_only_looks_leaves_a_vault_without_its_key_alone(
    user_data: UserData,
) -> None:
    vault = Vault(user_data, {}, may_quarantine=lambda: False)
    put(vault, "a")
    vault.close()
    user_data.key_file.unlink()
    with pytest.raises(KernelError, match="its key is not to be found"):
        names(vault)
    assert list(user_data.database_folder.glob("kernel.db")) == [user_data.database_file]
