"""Which repositories are registered; whether their folders exist is asked elsewhere."""

from pathlib import Path

from kernel.domain.repo import Repo
from kernel.errors import RepoNameExist, RepoNotFound
from kernel.storage.column_text import from_column, to_column
from kernel.storage.database import Row
from kernel.storage.vault import Vault, again_after_healing


class RepoRegistry:
    """The repositories of one vault; names are unique, ids are never given twice."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    @again_after_healing
    def all(self) -> list[Repo]:
        """Every repository, in the order of registration."""
        with self._vault.reading() as database:
            rows = database.execute("SELECT id, name, path FROM repository ORDER BY id").fetchall()
        return [_repo(row) for row in rows]

    @again_after_healing
    def find(self, name: str) -> Repo:
        """Return the repository registered under ``name``."""
        with self._vault.reading() as database:
            row = database.execute(
                "SELECT id, name, path FROM repository WHERE name = ?", (to_column(name),)
            ).fetchone()
        return _found(row, name)

    @again_after_healing
    def add(self, name: str, path: Path) -> Repo:
        """Register ``path`` under ``name``."""
        with self._vault.transaction() as database:
            row = database.execute(
                "INSERT INTO repository (name, path) VALUES (?, ?)"
                " ON CONFLICT (name) DO NOTHING RETURNING id, name, path",
                (to_column(name), to_column(str(path))),
            ).fetchone()
        if row is None:
            raise RepoNameExist(
                f"A repository named {name!r} is already registered:"
                " remove it first, or choose a folder with another name."
            )
        self._vault.keep_repo_list()
        return _repo(row)

    @again_after_healing
    def remove(self, name: str) -> Repo:
        """Forget the repository and its usage; its folder is not touched."""
        with self._vault.transaction() as database:
            row = database.execute(
                "DELETE FROM repository WHERE name = ? RETURNING id, name, path",
                (to_column(name),),
            ).fetchone()
        self._vault.keep_repo_list()
        return _found(row, name)


def _found(row: Row | None, name: str) -> Repo:
    if row is None:
        raise RepoNotFound(f"No repository named {name!r} is registered: create it first.")
    return _repo(row)


def _repo(row: Row) -> Repo:
    number, name, path = row
    return Repo(id=number, name=from_column(name), path=Path(from_column(path)))
