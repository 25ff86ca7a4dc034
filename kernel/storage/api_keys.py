"""The API keys of the chat endpoints, by the user's name for each model."""

from kernel.storage.column_text import from_column, to_column
from kernel.storage.vault import Vault, again_after_healing


class ApiKeys:
    """The keys of one vault; they leave it only through ``get``."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    @again_after_healing
    def set(self, name: str, key: str) -> None:
        """Keep ``key`` under ``name``, in place of an earlier one; an empty key removes it."""
        with self._vault.transaction() as database:
            if key:
                database.execute(
                    "INSERT INTO api_key (name, api_key) VALUES (?, ?)"
                    " ON CONFLICT (name) DO UPDATE SET api_key = excluded.api_key",
                    (to_column(name), to_column(key)),
                )
            else:
                database.execute("DELETE FROM api_key WHERE name = ?", (to_column(name),))

    def get(self, name: str) -> str:
        """Return the key kept under ``name``."""
        key = self._read(name)
        if key is None:
            raise self._vault.key_not_found(name)
        return key

    def has(self, name: str) -> bool:
        """Whether a key is kept under ``name``."""
        return self._read(name) is not None

    @again_after_healing
    def _read(self, name: str) -> str | None:
        with self._vault.reading() as database:
            row = database.execute(
                "SELECT api_key FROM api_key WHERE name = ?", (to_column(name),)
            ).fetchone()
        return None if row is None else from_column(row[0])
