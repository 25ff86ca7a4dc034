import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from codekernel.domain.index import Repo
from codekernel.errors import RepoNameExist, RepoNotFound
from codekernel.storage.vault.tables import RepoRegistry
from codekernel.storage.vault.vault import Vault


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
