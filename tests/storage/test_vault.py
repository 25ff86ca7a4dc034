import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from codekernel.domain.index import Repo
from codekernel.errors import ApiKeyNotFound, KernelError, RepoNameExist, RepoNotFound, StorageError
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import (
    ApiKeys,
    DayUsage,
    ModelUsage,
    RepoRegistry,
    UsageLedger,
    Vault,
)
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
        start.wait(60)
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


@pytest.mark.slow
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


SECRET = "sk-very-secret-0123456789"


def test_a_key_is_kept_and_replaced(vault: Vault) -> None:
    keys = ApiKeys(vault)
    assert not keys.has("model")
    keys.set("model", "first")
    keys.set("model", SECRET)
    assert keys.has("model")
    assert keys.get("model") == SECRET


def test_an_empty_key_removes(vault: Vault) -> None:
    keys = ApiKeys(vault)
    keys.set("model", SECRET)
    keys.set("other", "kept")
    keys.set("model", "")
    keys.set("never there", "")
    assert not keys.has("model")
    assert keys.get("other") == "kept"


def test_a_missing_key_says_where_to_enter_it(vault: Vault) -> None:
    with pytest.raises(ApiKeyNotFound, match="'model': enter it in the settings"):
        ApiKeys(vault).get("model")


def test_any_string_may_be_a_name(vault: Vault) -> None:
    keys = ApiKeys(vault)
    for name in ("", "a\0b", "\ud800", "m\u00f6del"):
        keys.set(name, SECRET)
        assert keys.get(name) == SECRET


def test_neither_key_is_to_be_seen_in_files_errors_or_logs(
    user_data: UserData,
    environ: dict[str, str],
    vault: Vault,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    ApiKeys(vault).set("model", SECRET)
    contents = {path.name: path.read_bytes() for path in user_data.database_folder.iterdir()}
    assert set(contents) >= {"kernel.db", "kernel.db-wal"}
    with pytest.raises(KernelError) as refusal, vault.transaction() as database:
        database.execute("INSERT INTO api_key VALUES ('model', ?)", (SECRET,))
    vault.close()
    contents["kernel.db, closed"] = user_data.database_file.read_bytes()
    vault_key = environ["CODEKERNEL_VAULT_KEY"]
    hidden = (SECRET.encode(), b"sk-very", vault_key.encode(), bytes.fromhex(vault_key))
    for content in contents.values():
        assert not any(secret in content for secret in hidden)
    chain: BaseException | None = refusal.value
    while chain is not None:
        assert SECRET not in str(chain)
        assert vault_key not in str(chain)
        chain = chain.__cause__ or chain.__context__
    assert SECRET not in caplog.text
    assert vault_key not in caplog.text


def test_repositories_come_in_the_order_of_registration(vault: Vault) -> None:
    registry = RepoRegistry(vault)
    assert registry.list_all() == []
    zebra = registry.add("zebra", Path("/src/zebra"))
    ant = registry.add("ant", Path("/src/ant"))
    assert registry.list_all() == [zebra, ant]
    assert registry.find("ant") == ant == Repo(2, "ant", Path("/src/ant"))


def test_they_are_still_there_after_reopening(open_vault: Callable[..., Vault]) -> None:
    first = open_vault()
    repo = RepoRegistry(first).add("demo", Path("/src/demo"))
    first.close()
    assert RepoRegistry(open_vault()).list_all() == [repo]


def test_an_unknown_name_is_named_and_the_way_out_too(vault: Vault) -> None:
    for ask in (RepoRegistry(vault).find, RepoRegistry(vault).remove):
        with pytest.raises(RepoNotFound, match="'nowhere' is registered: create it"):
            ask("nowhere")


def test_a_name_is_taken_once(vault: Vault) -> None:
    registry = RepoRegistry(vault)
    first = registry.add("demo", Path("/a/demo"))
    with pytest.raises(RepoNameExist, match="'demo'"):
        registry.add("demo", Path("/b/demo"))
    assert registry.list_all() == [first]


def test_a_removed_repository_is_gone_and_its_id_never_comes_back(
    open_vault: Callable[..., Vault],
) -> None:
    vault = open_vault()
    registry = RepoRegistry(vault)
    removed = registry.add("demo", Path("/src/demo"))
    assert registry.remove("demo") == removed
    assert registry.list_all() == []
    vault.close()
    assert registry.add("demo", Path("/src/demo")).id > removed.id


def test_names_and_paths_that_are_not_unicode_survive(open_vault: Callable[..., Vault]) -> None:
    name = os.fsdecode(b"caf\xe9") if os.name != "nt" else "caf\udce9"
    vault = open_vault()
    added = RepoRegistry(vault).add(name, Path("/src", name))
    vault.close()
    registry = RepoRegistry(open_vault())
    assert registry.find(name) == added == Repo(1, name, Path("/src", name))
    with pytest.raises(RepoNameExist) as refusal:
        registry.add(name, Path("/elsewhere"))
    assert str(refusal.value).isascii()
    assert registry.remove(name) == added


def test_of_many_threads_one_gets_the_name(vault: Vault) -> None:
    registry = RepoRegistry(vault)
    start = threading.Barrier(8)
    outcomes: list[object] = []

    def add(number: int) -> None:
        start.wait(60)
        try:
            outcomes.append(registry.add("demo", Path(f"/{number}/demo")))
        except RepoNameExist:
            outcomes.append(None)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [outcome for outcome in outcomes if outcome] == registry.list_all()
    assert len(outcomes) == 8


MONDAY, TUESDAY = date(2026, 1, 5), date(2026, 1, 6)


def test_tokens_add_up_over_calls_and_days_per_model(vault: Vault) -> None:
    repo = RepoRegistry(vault).add("demo", Path("/demo"))
    ledger = UsageLedger(vault)
    assert ledger.sum_by_model(repo.id) == []
    ledger.record(repo.id, "small", MONDAY, 10, 1)
    ledger.record(repo.id, "small", MONDAY, 20, 2)
    ledger.record(repo.id, "small", TUESDAY, 30, 3)
    ledger.record(repo.id, "large", TUESDAY, 7, 5)
    assert ledger.sum_by_model(repo.id) == [ModelUsage("large", 7, 5), ModelUsage("small", 60, 6)]
    with vault.read_connection() as database:
        assert database.execute("SELECT COUNT(*) FROM usage").fetchone() == (3,)


def test_repositories_are_counted_apart(vault: Vault) -> None:
    registry, ledger = RepoRegistry(vault), UsageLedger(vault)
    one, two = registry.add("one", Path("/one")), registry.add("two", Path("/two"))
    ledger.record(one.id, "small", MONDAY, 1, 1)
    assert ledger.sum_by_model(two.id) == []


def test_usage_goes_with_its_repository(vault: Vault) -> None:
    registry, ledger = RepoRegistry(vault), UsageLedger(vault)
    repo = registry.add("demo", Path("/demo"))
    ledger.record(repo.id, "small", MONDAY, 1, 1)
    registry.remove("demo")
    assert ledger.sum_by_model(repo.id) == []


def test_usage_of_a_repository_removed_meanwhile_is_forgotten(vault: Vault) -> None:
    registry, ledger = RepoRegistry(vault), UsageLedger(vault)
    repo = registry.add("demo", Path("/demo"))
    registry.remove("demo")
    ledger.record(repo.id, "small", MONDAY, 1, 1)
    assert ledger.sum_by_model(repo.id) == []


def test_what_is_recorded_under_a_receipt_counts_once_until_the_receipt_is_forgotten(
    vault: Vault,
) -> None:
    ledger = UsageLedger(vault)
    repo = RepoRegistry(vault).add("demo", Path("/demo"))
    usage = DayUsage("small", "2026-01-05", 10, 1)
    for receipt in ("one", "one", "two", "one"):
        ledger.record_once(receipt, repo.id, usage)
    assert ledger.sum_by_model(repo.id) == [ModelUsage("small", 20, 2)]
    ledger.delete_receipts({"two"})
    ledger.record_once("two", repo.id, usage)
    ledger.record_once("one", repo.id, usage)
    assert ledger.list_by_day(repo.id) == [DayUsage("small", "2026-01-05", 30, 3)]
