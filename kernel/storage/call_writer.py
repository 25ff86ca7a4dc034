"""Writing ``calls.db``: the facts of files, replaced whole."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel.domain.call_facts import CallFacts, Import, Reference
from kernel.storage.call_rows import (
    definition_row,
    name_key,
    packed_facts,
    stem_of,
    unpacked_facts,
)
from kernel.storage.call_schema import open_calls, prepare
from kernel.storage.call_verification import quarantine_calls
from kernel.storage.catalogue_failures import CatalogueDamaged, sqlite_errors
from kernel.storage.catalogue_rows import path_bytes
from kernel.storage.page_checksums import PageChecksums


@dataclass(frozen=True, slots=True)
class StaleFile:
    """A file whose facts are to be read again from the catalogue's text of it."""

    id: int
    path: str
    language: str
    digest: bytes
    size: int


class CallWriter:
    """One connection that writes; there may be others, in other processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sums = PageChecksums(path)
        try:
            self._database = self._open()
        except CatalogueDamaged:
            quarantine_calls(path)
            self._database = self._open()

    def close(self) -> None:
        """Close the connection."""
        with sqlite_errors(self._path):
            self._database.close()

    def replace(self, files: Sequence[tuple[StaleFile, CallFacts]]) -> None:
        """Put the facts of these files in the place of those that were there; all or nothing."""
        with self._transaction() as database:
            _forget(database, (file.id for file, _ in files))
            mentions: set[tuple[int, int]] = set()
            for file, facts in files:
                _put(database, file, facts)
                mentions.update(
                    (name_key(name), file.id)
                    for name in _mentioned(facts.references, facts.imports)
                )
            # In the order of the table: each of its pages is written once.
            database.executemany("INSERT OR IGNORE INTO mention VALUES (?,?)", sorted(mentions))

    def forget(self, files: Iterable[int]) -> None:
        """These files are gone."""
        with self._transaction() as database:
            _forget(database, files)

    def tidy(self) -> None:
        """Put what was committed into its place, unless a reader needs it where it is."""
        with sqlite_errors(self._path):
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _open(self) -> sqlite3.Connection:
        with sqlite_errors(self._path):
            database = open_calls(self._path)
            try:
                prepare(database)
            except sqlite3.Error:
                database.close()
                raise
            return database

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with sqlite_errors(self._path):
            self._sums.forget()  # written anew when the last of those who write has closed it
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise


def _put(database: sqlite3.Connection, file: StaleFile, facts: CallFacts) -> None:
    values = (file.id, path_bytes(file.path), stem_of(file.path), file.language, file.digest)
    database.execute("INSERT INTO source VALUES (?,?,?,?,?)", values)
    database.execute("INSERT INTO facts VALUES (?,?)", (file.id, packed_facts(facts)))
    database.executemany(
        "INSERT INTO definition VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        [definition_row(file.id, one) for one in facts.definitions],
    )
    bases = {
        (base.rpartition(".")[2], file.id, one.number)
        for one in facts.definitions
        for base in one.bases
    }
    database.executemany("INSERT INTO base VALUES (?,?,?)", bases)


def _mentioned(references: Sequence[Reference], imports: Iterable[Import]) -> set[str]:
    """The names a file calls, by what they are called here and where they are from."""
    names = {one.name for one in references}
    # Foo.new of Ruby is a call of Foo.
    names |= {one.text.rpartition(".")[2] for one in references if one.name == "new"}
    return names | {each.name for each in imports if each.alias in names and each.name}


def _forget(database: sqlite3.Connection, files: Iterable[int]) -> None:
    for file in files:
        row = database.execute("SELECT packed FROM facts WHERE file = ?", (file,)).fetchone()
        if row is None:
            continue
        references, imports = unpacked_facts(row[0])
        mentions = {(name_key(name), file) for name in _mentioned(references, imports)}
        database.executemany("DELETE FROM mention WHERE name = ? AND file = ?", mentions)
        for table in ("source", "facts", "definition", "base"):
            database.execute(f"DELETE FROM {table} WHERE file = ?", (file,))  # noqa: S608 - constants
