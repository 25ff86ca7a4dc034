"""How many tokens each model read and wrote for each repository, day by day."""

from datetime import date

from kernel.domain.usage import ModelUsage
from kernel.storage.column_text import from_column, to_column
from kernel.storage.vault import Vault


class UsageLedger:
    """The usage kept in one vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def record(
        self, repo_id: int, model_name: str, day: date, input_tokens: int, output_tokens: int
    ) -> None:
        """Add to what the model has used on that day.

        A repository removed while its conversation ran has no usage left to add to, so nothing
        is kept and nothing fails.
        """
        with self._vault.transaction() as database:
            database.execute(
                "INSERT INTO usage (repo_id, model_name, day, input_tokens, output_tokens)"
                " SELECT id, ?, ?, ?, ? FROM repository WHERE id = ?"
                " ON CONFLICT (repo_id, model_name, day) DO UPDATE SET"
                " input_tokens = input_tokens + excluded.input_tokens,"
                " output_tokens = output_tokens + excluded.output_tokens",
                (to_column(model_name), day.isoformat(), input_tokens, output_tokens, repo_id),
            )

    def total(self, repo_id: int) -> list[ModelUsage]:
        """Return the sums over all days, one per model, by model name."""
        with self._vault.reading() as database:
            rows = database.execute(
                "SELECT model_name, SUM(input_tokens), SUM(output_tokens) FROM usage"
                " WHERE repo_id = ? GROUP BY model_name ORDER BY model_name",
                (repo_id,),
            ).fetchall()
        return [ModelUsage(from_column(name), read, written) for name, read, written in rows]
