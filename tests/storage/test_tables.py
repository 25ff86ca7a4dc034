import os
import threading
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from codekernel.domain.index import Repo
from codekernel.domain.turn import DayUsage, ModelUsage
from codekernel.errors import ApiKeyNotFound, KernelError, RepoNameExist, RepoNotFound
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.tables import ApiKeys, RepoRegistry, UsageLedger
from codekernel.storage.vault.vault import Vault

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
        start.wait(5)
        try:
            outcomes.append(registry.add("demo", Path(f"/{number}/demo")))
        except RepoNameExist:
            outcomes.append(None)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
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
