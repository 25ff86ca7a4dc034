from datetime import date
from pathlib import Path

from codekernel.domain.turn import DayUsage, ModelUsage
from codekernel.storage.vault.tables import RepoRegistry, UsageLedger
from codekernel.storage.vault.vault import Vault

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
