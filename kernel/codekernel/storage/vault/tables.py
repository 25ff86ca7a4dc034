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
from codekernel.storage.vault.vault import Vault, retry_after_repair


class ApiKeys:
    """The keys of one vault; they leave it only through ``get``."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    @retry_after_repair
    def set(self, name: str, key: str) -> None:
        """Keep ``key`` under ``name``, in place of an earlier one; an empty key removes it."""
        with self._vault.transaction() as database:
            if key:
                database.execute(
                    "INSERT INTO api_key (name, api_key) VALUES (?, ?)"
                    " ON CONFLICT (name) DO UPDATE SET api_key = excluded.api_key",
                    (encode_column(name), encode_column(key)),
                )
            else:
                database.execute("DELETE FROM api_key WHERE name = ?", (encode_column(name),))

    def get(self, name: str) -> str:
        """Return the key kept under ``name``."""
        key = self._read(name)
        if key is None:
            raise self._vault.build_key_not_found(name)
        return key

    def has(self, name: str) -> bool:
        """Whether a key is kept under ``name``."""
        return self._read(name) is not None

    @retry_after_repair
    def _read(self, name: str) -> str | None:
        with self._vault.read_connection() as database:
            row = database.execute(
                "SELECT api_key FROM api_key WHERE name = ?", (encode_column(name),)
            ).fetchone()
        return None if row is None else decode_column(row[0])


class RepoRegistry:
    """The repositories of one vault; names are unique, ids are never given twice."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    @retry_after_repair
    def list_all(self) -> list[Repo]:
        """Every repository, in the order of registration."""
        with self._vault.read_connection() as database:
            rows = database.execute("SELECT id, name, path FROM repository ORDER BY id").fetchall()
        return [_parse_repo_row(row) for row in rows]

    @retry_after_repair
    def find(self, name: str) -> Repo:
        """Return the repository registered under ``name``."""
        with self._vault.read_connection() as database:
            row = database.execute(
                "SELECT id, name, path FROM repository WHERE name = ?", (encode_column(name),)
            ).fetchone()
        return _require_repo(row, name)

    @retry_after_repair
    def add(self, name: str, path: Path) -> Repo:
        """Register ``path`` under ``name``."""
        with self._vault.transaction() as database:
            row = database.execute(
                "INSERT INTO repository (name, path) VALUES (?, ?)"
                " ON CONFLICT (name) DO NOTHING RETURNING id, name, path",
                (encode_column(name), encode_column(str(path))),
            ).fetchone()
        if row is None:
            raise RepoNameExist(
                f"A repository named {name!r} is already registered:"
                " remove it first, or choose a folder with another name."
            )
        self._vault.save_repo_list()
        return _parse_repo_row(row)

    @retry_after_repair
    def remove(self, name: str) -> Repo:
        """Forget the repository and its usage; its folder is not touched."""
        with self._vault.transaction() as database:
            row = database.execute(
                "DELETE FROM repository WHERE name = ? RETURNING id, name, path",
                (encode_column(name),),
            ).fetchone()
        self._vault.save_repo_list()
        return _require_repo(row, name)


def _require_repo(row: DatabaseRow | None, name: str) -> Repo:
    if row is None:
        raise RepoNotFound(f"No repository named {name!r} is registered: create it first.")
    return _parse_repo_row(row)


def _parse_repo_row(row: DatabaseRow) -> Repo:
    number, name, path = row
    return Repo(id=number, name=decode_column(name), path=Path(decode_column(path)))


class UsageLedger:
    """The usage kept in one vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    @retry_after_repair
    def record(
        self, repo_id: int, model_name: str, day: date, input_tokens: int, output_tokens: int
    ) -> None:
        """Add to what the model has used on that day.

        A repository removed while its conversation ran has no usage left to add to, so nothing
        is kept and nothing fails.
        """
        with self._vault.transaction() as database:
            usage = DayUsage(model_name, day.isoformat(), input_tokens, output_tokens)
            _add_usage(database, repo_id, usage)

    @retry_after_repair
    def record_once(self, receipt: str, repo_id: int, usage: DayUsage) -> None:
        """Add as ``record`` does, unless something was added under this receipt before.

        Whoever does not know whether a crash came before or after may simply do it again.
        """
        with self._vault.transaction() as database:
            fresh = database.execute(
                "INSERT INTO usage_receipt (receipt) VALUES (?)"
                " ON CONFLICT (receipt) DO NOTHING RETURNING receipt",
                (receipt,),
            ).fetchone()
            if fresh:
                _add_usage(database, repo_id, usage)

    @retry_after_repair
    def delete_receipts(self, kept: Collection[str]) -> None:
        """Drop the receipts that nobody will show again."""
        with self._vault.transaction() as database:
            rows = database.execute("SELECT receipt FROM usage_receipt").fetchall()
            for (receipt,) in rows:
                if receipt not in kept:
                    database.execute("DELETE FROM usage_receipt WHERE receipt = ?", (receipt,))

    @retry_after_repair
    def sum_by_model(self, repo_id: int) -> list[ModelUsage]:
        """Return the sums over all days, one per model, by model name."""
        with self._vault.read_connection() as database:
            rows = database.execute(
                "SELECT model_name, SUM(input_tokens), SUM(output_tokens) FROM usage"
                " WHERE repo_id = ? GROUP BY model_name ORDER BY model_name",
                (repo_id,),
            ).fetchall()
        return [ModelUsage(decode_column(name), read, written) for name, read, written in rows]

    @retry_after_repair
    def list_by_day(self, repo_id: int) -> list[DayUsage]:
        """Return what each model used on each day, by model name and day."""
        with self._vault.read_connection() as database:
            rows = database.execute(
                "SELECT model_name, day, input_tokens, output_tokens FROM usage"
                " WHERE repo_id = ? ORDER BY model_name, day",
                (repo_id,),
            ).fetchall()
        return [
            DayUsage(decode_column(name), day, read, written) for name, day, read, written in rows
        ]


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
