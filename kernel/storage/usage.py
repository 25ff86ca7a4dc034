"""How many tokens each model read and wrote for each repository, day by day."""

from collections.abc import Collection
from datetime import date

from kernel.domain.usage import DayUsage, ModelUsage
from kernel.storage.column_text import from_column, to_column
from kernel.storage.database import Database
from kernel.storage.vault import Vault, again_after_healing


class UsageLedger:
    """The usage kept in one vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    @again_after_healing
    def record(
        self, repo_id: int, model_name: str, day: date, input_tokens: int, output_tokens: int
    ) -> None:
        """Add to what the model has used on that day.

        A repository removed while its conversation ran has no usage left to add to, so nothing
        is kept and nothing fails.
        """
        with self._vault.transaction() as database:
            usage = DayUsage(model_name, day.isoformat(), input_tokens, output_tokens)
            _add(database, repo_id, usage)

    @again_after_healing
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
                _add(database, repo_id, usage)

    @again_after_healing
    def forget_receipts(self, but_for: Collection[str]) -> None:
        """Drop the receipts that nobody will show again."""
        with self._vault.transaction() as database:
            rows = database.execute("SELECT receipt FROM usage_receipt").fetchall()
            for (receipt,) in rows:
                if receipt not in but_for:
                    database.execute("DELETE FROM usage_receipt WHERE receipt = ?", (receipt,))

    @again_after_healing
    def total(self, repo_id: int) -> list[ModelUsage]:
        """Return the sums over all days, one per model, by model name."""
        with self._vault.reading() as database:
            rows = database.execute(
                "SELECT model_name, SUM(input_tokens), SUM(output_tokens) FROM usage"
                " WHERE repo_id = ? GROUP BY model_name ORDER BY model_name",
                (repo_id,),
            ).fetchall()
        return [ModelUsage(from_column(name), read, written) for name, read, written in rows]

    @again_after_healing
    def by_day(self, repo_id: int) -> list[DayUsage]:
        """Return what each model used on each day, by model name and day."""
        with self._vault.reading() as database:
            rows = database.execute(
                "SELECT model_name, day, input_tokens, output_tokens FROM usage"
                " WHERE repo_id = ? ORDER BY model_name, day",
                (repo_id,),
            ).fetchall()
        return [
            DayUsage(from_column(name), day, read, written) for name, day, read, written in rows
        ]


def _add(database: Database, repo_id: int, usage: DayUsage) -> None:
    name, read, written = to_column(usage.model_name), usage.input_tokens, usage.output_tokens
    database.execute(
        "INSERT INTO usage (repo_id, model_name, day, input_tokens, output_tokens)"
        " SELECT id, ?, ?, ?, ? FROM repository WHERE id = ?"
        " ON CONFLICT (repo_id, model_name, day) DO UPDATE SET"
        " input_tokens = input_tokens + excluded.input_tokens,"
        " output_tokens = output_tokens + excluded.output_tokens",
        (name, usage.day, read, written, repo_id),
    )
