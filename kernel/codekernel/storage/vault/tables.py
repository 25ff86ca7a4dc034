"""The tables of the vault: API keys, registered repositories, token usage."""

from collections.abc import Collection
from datetime import date
from pathlib import Path

from codekernel.domain.index import Repo
from codekernel.domain.turn import DayUsage, ModelUsage
from codekernel.errors import RepoNameExist, RepoNotFound
from codekernel.storage.vault.encrypted_database import (
    DatabaseConnection,
    DatabaseRow,
    decode_column,
    encode_column,
)
from codekernel.storage.vault.vault import Vault

_REPOSITORIES = "SELECT id, name, path FROM repository"


class ApiKeys:
    """The API keys of one vault; they leave it only through ``get``."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def set(self, name: str, key: str) -> None:
        """Save ``key`` under ``name``, in place of an earlier one; an empty key deletes it."""
        if not key:
            self._vault.write("DELETE FROM api_key WHERE name = ?", encode_column(name))
            return
        self._vault.write(
            "INSERT INTO api_key (name, api_key) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET api_key = excluded.api_key",
            encode_column(name),
            encode_column(key),
        )

    def get(self, name: str) -> str:
        """Return the key saved under ``name``. Raises ApiKeyNotFound."""
        key = self._read(name)
        if key is None:
            raise self._vault.build_key_not_found(name)
        return key

    def has(self, name: str) -> bool:
        """Return whether a key is saved under ``name``."""
        return self._read(name) is not None

    def _read(self, name: str) -> str | None:
        rows = self._vault.query("SELECT api_key FROM api_key WHERE name = ?", encode_column(name))
        return decode_column(rows[0][0]) if rows else None


class RepoRegistry:
    """The repositories of one vault; names are unique, ids are never used twice."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def list_all(self) -> list[Repo]:
        """Return every repository, in the order of registration."""
        return [_parse_repo_row(row) for row in self._vault.query(f"{_REPOSITORIES} ORDER BY id")]

    def find(self, name: str) -> Repo:
        """Return the repository registered under ``name``. Raises RepoNotFound."""
        rows = self._vault.query(f"{_REPOSITORIES} WHERE name = ?", encode_column(name))
        return _require_repo(rows, name)

    def add(self, name: str, path: Path) -> Repo:
        """Register ``path`` under ``name``. Raises RepoNameExist."""
        rows = self._vault.write(
            "INSERT INTO repository (name, path) VALUES (?, ?)"
            " ON CONFLICT (name) DO NOTHING RETURNING id, name, path",
            encode_column(name),
            encode_column(str(path)),
        )
        if not rows:
            raise RepoNameExist(
                f"A repository named {name!r} is already registered:"
                " remove it first, or choose a folder with another name."
            )
        self._vault.save_repo_list()
        return _parse_repo_row(rows[0])

    def remove(self, name: str) -> Repo:
        """Delete the repository and its usage; its folder is not touched. Raises RepoNotFound."""
        rows = self._vault.write(
            "DELETE FROM repository WHERE name = ? RETURNING id, name, path", encode_column(name)
        )
        self._vault.save_repo_list()
        return _require_repo(rows, name)


def _require_repo(rows: list[DatabaseRow], name: str) -> Repo:
    if not rows:
        raise RepoNotFound(f"No repository named {name!r} is registered: create it first.")
    return _parse_repo_row(rows[0])


def _parse_repo_row(row: DatabaseRow) -> Repo:
    number, name, path = row
    return Repo(id=number, name=decode_column(name), path=Path(decode_column(path)))


class UsageLedger:
    """The token usage saved in one vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def record(
        self, repo_id: int, model_name: str, day: date, input_tokens: int, output_tokens: int
    ) -> None:
        """Add to the usage of a model on a day; nothing if the repository was removed."""
        usage = DayUsage(model_name, day.isoformat(), input_tokens, output_tokens)
        self._vault.run(lambda database: _add_usage(database, repo_id, usage))

    def record_once(self, receipt: str, repo_id: int, usage: DayUsage) -> None:
        """Add as ``record`` does, unless something was added under this receipt before.

        So it can be repeated after a crash.
        """

        def add(database: DatabaseConnection) -> None:
            if database.execute(
                "INSERT INTO usage_receipt (receipt) VALUES (?)"
                " ON CONFLICT (receipt) DO NOTHING RETURNING receipt",
                (receipt,),
            ).fetchone():
                _add_usage(database, repo_id, usage)

        self._vault.run(add)

    def delete_receipts(self, kept: Collection[str]) -> None:
        """Delete the receipts that will not be used again."""

        def delete(database: DatabaseConnection) -> None:
            for (receipt,) in database.execute("SELECT receipt FROM usage_receipt").fetchall():
                if receipt not in kept:
                    database.execute("DELETE FROM usage_receipt WHERE receipt = ?", (receipt,))

        self._vault.run(delete)

    def sum_by_model(self, repo_id: int) -> list[ModelUsage]:
        """Return the sums over all days, one per model, by model name."""
        rows = self._vault.query(
            "SELECT model_name, SUM(input_tokens), SUM(output_tokens) FROM usage"
            " WHERE repo_id = ? GROUP BY model_name ORDER BY model_name",
            repo_id,
        )
        return [ModelUsage(decode_column(name), *counts) for name, *counts in rows]

    def list_by_day(self, repo_id: int) -> list[DayUsage]:
        """Return what each model used on each day, by model name and day."""
        rows = self._vault.query(
            "SELECT model_name, day, input_tokens, output_tokens FROM usage"
            " WHERE repo_id = ? ORDER BY model_name, day",
            repo_id,
        )
        return [DayUsage(decode_column(name), *others) for name, *others in rows]


def _add_usage(database: DatabaseConnection, repo_id: int, usage: DayUsage) -> None:
    name, read, written = encode_column(usage.model_name), usage.input_tokens, usage.output_tokens
    database.execute(
        "INSERT INTO usage (repo_id, model_name, day, input_tokens, output_tokens)"
        " SELECT id, ?, ?, ?, ? FROM repository WHERE id = ?"
        " ON CONFLICT (repo_id, model_name, day) DO UPDATE SET"
        " input_tokens = input_tokens + excluded.input_tokens,"
        " output_tokens = output_tokens + excluded.output_tokens",
        (name, usage.day, read, written, repo_id),
    )
