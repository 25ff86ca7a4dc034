"""What this room needs of a database connection; the library behind it ships no types."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

Row: TypeAlias = tuple[Any, ...]


class Rows(Protocol):
    """What a statement answered."""

    def fetchone(self) -> Row | None:
        """Return the next row, or None after the last."""

    def fetchall(self) -> list[Row]:
        """Return all rows that are left."""


class Database(Protocol):
    """An open connection."""

    def execute(self, sql: str, parameters: Sequence[object] = (), /) -> Rows:
        """Run one statement."""

    def close(self) -> None:
        """Close it; a transaction that is still open is rolled back."""
