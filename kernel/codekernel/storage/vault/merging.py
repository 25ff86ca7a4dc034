"""Merge the rows of another vault into this one; doing so again changes nothing."""

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from codekernel.storage.engines import decode_column, encode_column
from codekernel.storage.vault.encrypted_database import DatabaseConnection, DatabaseRow
from codekernel.storage.vault.vault import (
    MERGE_RECEIPT_PREFIX,
    DayUsage,
    Vault,
    add_receipt,
    add_usage,
)


@dataclass(frozen=True, slots=True)
class VaultMerge:
    """The repository here of each id there, and the name here of each key there."""

    repo_ids: Mapping[int, int]
    key_names: Mapping[str, str]


def merge_vault(source: Vault, target: Vault, origin: str) -> VaultMerge:
    """Add repositories, keys and usage of ``source``, in one transaction. Raises StorageError.

    A repository with the same path is the same one; another one of the same name gets a number.
    A key that is here stays, and a different one of that name is added as "<name> (2)".
    ``origin`` names the source: its usage is added once.
    """
    repos = source.query("SELECT id, name, path FROM repository ORDER BY id")
    keys = source.query("SELECT name, api_key FROM api_key ORDER BY name")
    usage = source.query(
        "SELECT repo_id, model_name, day, input_tokens, output_tokens FROM usage ORDER BY day"
    )

    def merge(database: DatabaseConnection) -> VaultMerge:
        repo_ids = _merge_repositories(database, repos)
        key_names = _merge_keys(database, keys)
        if add_receipt(database, f"{MERGE_RECEIPT_PREFIX}{origin}"):
            for repo_id, name, *others in usage:
                add_usage(database, repo_ids[repo_id], DayUsage(decode_column(name), *others))
        return VaultMerge(repo_ids, key_names)

    merged = target.run(merge)
    target.save_repo_list()
    return merged


def _merge_repositories(
    database: DatabaseConnection, repos: Collection[DatabaseRow]
) -> dict[int, int]:
    known = database.execute("SELECT id, name, path FROM repository ORDER BY id").fetchall()
    by_row = {(name, path): number for number, name, path in known}
    by_path = {path: number for number, _, path in reversed(known)}
    names = {name for _, name, _ in known}
    found: dict[int, int] = {}
    for number, name, path in repos:
        same = by_row.get((name, path), by_path.get(path))
        if same is None:
            free = next(each for each in _iterate_names(name, "{}-{}") if each not in names)
            names.add(free)
            (same,) = database.execute(
                "INSERT INTO repository (name, path) VALUES (?, ?) RETURNING id", (free, path)
            ).fetchone()
        found[number] = same
    return found


def _merge_keys(database: DatabaseConnection, keys: Collection[DatabaseRow]) -> dict[str, str]:
    known = dict(database.execute("SELECT name, api_key FROM api_key").fetchall())
    found: dict[str, str] = {}
    for name, key in keys:
        fitting = (each for each in _iterate_names(name, "{} ({})") if known.get(each, key) == key)
        chosen = next(fitting)
        if chosen not in known:
            database.execute("INSERT INTO api_key (name, api_key) VALUES (?, ?)", (chosen, key))
            known[chosen] = key
        found[decode_column(name)] = decode_column(chosen)
    return found


def _iterate_names(column: str | bytes, pattern: str) -> Iterator[str | bytes]:
    """Yield a name, then the name with a number."""
    yield column
    name = decode_column(column)
    for number in itertools.count(2):
        yield encode_column(pattern.format(name, number))
