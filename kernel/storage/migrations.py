"""The schema of the vault as numbered steps; ``PRAGMA user_version`` says how many were taken.

A step that has been released is never edited: a change is a new step at the end.
"""

from pathlib import Path

from kernel.errors import VaultUnavailable
from kernel.storage.database import Database

STEPS: tuple[tuple[str, ...], ...] = (
    (
        # AUTOINCREMENT, because an id names an index folder and must never come back.
        """CREATE TABLE repository (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT UNIQUE NOT NULL,
            path TEXT NOT NULL
        )""",
        """CREATE TABLE api_key (
            name TEXT PRIMARY KEY,
            api_key TEXT NOT NULL
        )""",
        """CREATE TABLE usage (
            repo_id INTEGER NOT NULL REFERENCES repository(id) ON DELETE CASCADE,
            model_name TEXT NOT NULL,
            day TEXT NOT NULL,
            input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL,
            PRIMARY KEY (repo_id, model_name, day)
        )""",
    ),
    (
        # What was added to usage already, so that a turn found unfinished is not counted twice.
        "CREATE TABLE usage_receipt (receipt TEXT PRIMARY KEY)",
    ),
)


def refuse_newer(database: Database, path: Path) -> None:
    """Turn away from a database whose schema this version does not know."""
    version = _version(database)
    if version > len(STEPS):
        raise VaultUnavailable(
            f"The vault {path} was made by a newer codekernel (schema {version}, this version knows"
            f" {len(STEPS)}). It was not touched: update codekernel, or choose another folder"
            " with --user-data."
        )


def migrate(database: Database) -> None:
    """Take the steps that are missing, each whole or not at all.

    A failed step is rolled back by closing the connection, as ``cipher.py`` does.
    """
    for number, statements in enumerate(STEPS, start=1):
        if _version(database) >= number:
            continue
        database.execute("BEGIN IMMEDIATE")
        for statement in statements:
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {number}")
        database.execute("COMMIT")


def _version(database: Database) -> int:
    row = database.execute("PRAGMA user_version").fetchone()
    return int(row[0]) if row else 0
