"""Asking ``calls.db``: one moment of it at a time, and how far it is behind the catalogue."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel.domain.call_facts import Definition, Import, Reference
from kernel.storage.call_rows import (
    DEFINITION_COLUMNS,
    definition,
    name_key,
    unpacked_facts,
)
from kernel.storage.call_schema import open_calls
from kernel.storage.call_writer import StaleFile
from kernel.storage.catalogue_failures import sqlite_errors
from kernel.storage.catalogue_rows import path_bytes, path_text

_CHANGED = "SELECT file_id FROM catalogue.changed WHERE at > ?"
_FOUND = f"source.file, source.path, source.language, {DEFINITION_COLUMNS}"


@dataclass(frozen=True, slots=True)
class Placed:
    """A definition and the file it is in."""

    file: int
    path: str
    language: str
    one: Definition

    @property
    def key(self) -> tuple[int, int]:
        """What tells it apart from every other."""
        return self.file, self.one.number


@dataclass(frozen=True, slots=True)
class CallsOfFile:
    """What a file calls and imports."""

    file: int
    path: str
    language: str
    references: list[Reference]
    imports: list[Import]


class CallReader:
    """One connection, and the catalogue beside it; used by one thread at a time."""

    def __init__(self, path: Path, catalogue: Path) -> None:
        self._path = path
        with sqlite_errors(path):
            self._database = open_calls(path, read_only=True)
            where = f"{catalogue.absolute().as_uri()}?mode=ro"
            self._database.execute("ATTACH ? AS catalogue", (where,))
        self._version: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Within the block everything is answered from one moment."""
        with sqlite_errors(self._path):
            self._database.execute("BEGIN")
            try:
                yield
            finally:
                self._database.execute("COMMIT")

    def version(self) -> tuple[int, int]:
        """Two numbers that differ from before if somebody has written either database."""
        with sqlite_errors(self._path):
            one = self._database.execute("PRAGMA main.data_version").fetchone()
            two = self._database.execute("PRAGMA catalogue.data_version").fetchone()
        return int(one[0]), int(two[0])

    def latest_change(self) -> int | None:
        """The number of the catalogue's last change; none if it keeps no count of them."""
        has = "SELECT 1 FROM catalogue.sqlite_master WHERE name = 'changed'"
        if not self._rows(has):
            return None  # nobody of this version has written it yet
        return int(self._rows("SELECT coalesce(max(at), 0) FROM catalogue.changed")[0][0])

    def stale(self, languages: Collection[str], since: int | None = None) -> list[StaleFile]:
        """The files of these languages that the facts are not, or not any more, of.

        With ``since``, only those that have changed after that change are looked at.
        """
        chosen = "" if since is None else f" AND f.id IN ({_CHANGED})"
        marks = ",".join("?" * len(languages))
        rows = self._rows(
            "SELECT f.id, f.path, f.language, f.digest, f.size FROM catalogue.file AS f"  # noqa: S608 - question marks
            " LEFT JOIN main.source AS s ON s.file = f.id AND s.digest = f.digest"
            f" AND s.path = f.path WHERE s.file IS NULL AND f.language IN ({marks}){chosen}",
            (*languages, *(() if since is None else (since,))),
        )
        return [StaleFile(row[0], path_text(row[1]), *row[2:]) for row in rows]

    def gone(self, since: int | None = None) -> list[int]:
        """The files that there are facts of, and that the catalogue does not have any more."""
        chosen = "" if since is None else f" AND file IN ({_CHANGED})"
        rows = self._rows(
            "SELECT file FROM main.source"  # noqa: S608 - question marks
            f" WHERE file NOT IN (SELECT id FROM catalogue.file){chosen}",
            () if since is None else (since,),
        )
        return [row[0] for row in rows]

    def file_count(self) -> int:
        """How many files there are facts of."""
        return int(self._rows("SELECT count(*) FROM source")[0][0])

    def named(self, name: str, of_class: str | None = None, limit: int = -1) -> list[Placed]:
        """The definitions of this name, or those of them that belong to a class."""
        chosen = "" if of_class is None else " AND of_class = ?"
        values = (name, limit) if of_class is None else (name, of_class, limit)
        return self._placed(f"name = ?{chosen} LIMIT ?", values)

    def in_file(self, file: int, name: str | None = None) -> list[Placed]:
        """The definitions in a file, or those of them with this name."""
        if name is None:
            return self._placed("definition.file = ?", (file,))
        return self._placed("definition.file = ? AND name = ?", (file, name))

    def at(self, file: int, number: int) -> Placed | None:
        """One definition."""
        found = self._placed("definition.file = ? AND number = ?", (file, number))
        return found[0] if found else None

    def extending(self, base: str) -> list[Placed]:
        """The classes that extend or implement something of this name."""
        keys = self._rows("SELECT file, number FROM base WHERE name = ?", (base,))
        return [placed for key in keys if (placed := self.at(*key))]

    def mentioning(self, name: str) -> list[tuple[int, str, str]]:
        """The files that call something of this name, or whose checksum says so: id, path, ..."""
        rows = self._rows(
            "SELECT source.file, path, language FROM mention JOIN source USING (file)"
            " WHERE mention.name = ?",
            (name_key(name),),
        )
        return [(row[0], path_text(row[1]), row[2]) for row in rows]

    def calls_of(self, file: int) -> CallsOfFile | None:
        """What a file calls and imports; none if it is not known."""
        rows = self._rows(
            "SELECT path, language, packed FROM source JOIN facts USING (file) WHERE file = ?",
            (file,),
        )
        if not rows:
            return None
        path, language, packed = rows[0]
        return CallsOfFile(file, path_text(path), language, *unpacked_facts(packed))

    def files_with_stem(self, stem: str) -> list[tuple[int, str]]:
        """Id and path of the files that a module of this name may be."""
        rows = self._rows("SELECT file, path FROM source WHERE stem = ?", (stem,))
        return [(row[0], path_text(row[1])) for row in rows]

    def file_at(self, path: str) -> int | None:
        """The id of the file at a path."""
        rows = self._rows("SELECT file FROM source WHERE path = ?", (path_bytes(path),))
        return int(rows[0][0]) if rows else None

    def has_folder(self, folder: str) -> bool:
        """Whether any file lies below a folder."""
        low, high = path_bytes(f"{folder}/"), path_bytes(f"{folder}0")
        return bool(
            self._rows("SELECT 1 FROM source WHERE path >= ? AND path < ? LIMIT 1", (low, high))
        )

    def _placed(self, where: str, values: Sequence[object]) -> list[Placed]:
        rows = self._rows(
            f"SELECT {_FOUND} FROM definition JOIN source USING (file) WHERE {where}",  # noqa: S608 - constants
            values,
        )
        return [Placed(row[0], path_text(row[1]), row[2], definition(row[3:])) for row in rows]

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with sqlite_errors(self._path):
            return self._database.execute(statement, values).fetchall()
