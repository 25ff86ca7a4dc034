"""Write and read the call facts (definitions, references, imports) of files in calls.db.

List which files are stale against the catalog.
"""

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekernel.domain.call_graph import (
    CallFacts,
    CallReference,
    ImportBinding,
    ReceiverKind,
    SymbolDefinition,
)
from codekernel.storage.catalog.call_database import connect_calls, prepare_calls
from codekernel.storage.catalog.rows import (
    decode_stored_path,
    encode_stored_path,
    join_names,
    replace_surrogates,
    split_names,
)
from codekernel.storage.engines import (
    CatalogDamaged,
    begin_write,
    close_on_error,
    translate_sqlite_errors,
)
from codekernel.storage.page_checksums import PageChecksums
from codekernel.storage.quarantine import quarantine_derived_database

# Modules with these file names are named after their folder.
_FOLDER_NAMED_STEMS = frozenset({"__init__", "index", "mod", "lib", "main"})

_RECEIVER_KINDS = list(ReceiverKind)


@dataclass(frozen=True, slots=True)
class StaleFile:
    """A file whose facts are to be extracted again from its text in the catalog."""

    id: int
    path: str
    language: str
    digest: bytes
    size: int


class CallWriter:
    """One connection that writes; there may be others, in other processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checksums = PageChecksums(path)
        try:
            self._database = self._open()
        except CatalogDamaged:
            quarantine_derived_database(path)
            self._database = self._open()

    def close(self) -> None:
        """Close the connection."""
        with translate_sqlite_errors(self._path):
            self._database.close()

    def replace_facts(self, files: Sequence[tuple[StaleFile, CallFacts]]) -> None:
        """Replace the facts of these files, all or nothing."""
        with self._transaction() as database:
            _delete_facts(database, (file.id for file, _ in files))
            mentions: set[tuple[int, int]] = set()
            for file, facts in files:
                _insert_facts(database, file, facts)
                mentions.update(
                    (_hash_name(name), file.id)
                    for name in _collect_called_names(facts.references, facts.imports)
                )
            # In the order of the table: each of its pages is written once.
            database.executemany("INSERT OR IGNORE INTO mention VALUES (?,?)", sorted(mentions))

    def delete_facts(self, files: Iterable[int]) -> None:
        """Delete the facts of these files."""
        with self._transaction() as database:
            _delete_facts(database, files)

    def checkpoint(self) -> None:
        """Move what was committed into the database, unless a reader needs it in the log."""
        with translate_sqlite_errors(self._path):
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _open(self) -> sqlite3.Connection:
        with translate_sqlite_errors(self._path):
            database = connect_calls(self._path)
            with close_on_error(database):
                prepare_calls(database)
            return database

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translate_sqlite_errors(self._path):
            self._checksums.delete()  # written again when the last writer has closed it
            with begin_write(self._database):
                yield self._database


def _hash_name(name: str) -> int:
    """Return the checksum of a name."""
    return zlib.crc32(name.encode(errors="replace"))


def _get_module_stem(path: str) -> str:
    """Return the name of a module: its file without extensions, or its folder."""
    folder, _, name = path.rpartition("/")
    stem = name.split(".", 1)[0]
    return folder.rpartition("/")[2] or stem if stem in _FOLDER_NAMED_STEMS else stem


def _make_definition_row(file: int, one: SymbolDefinition) -> tuple[Any, ...]:
    """Return the columns of a definition."""
    names = map(replace_surrogates, (one.name, one.owner, one.kind, one.class_name))
    numbers = (one.first_line, one.last_line, one.min_arguments, one.max_arguments)
    types = join_names(one.bases), replace_surrogates(one.return_type)
    return file, one.number, *names, *numbers, *types


def _pack_facts(facts: CallFacts) -> bytes:
    """Pack the references and imports of a file."""
    references = [
        (one.name, one.line, one.enclosing_definition, int(one.receiver_kind), one.receiver_text,
         one.argument_count)
        for one in facts.references
    ]  # fmt: skip
    imports = [(one.alias, one.module, one.name) for one in facts.imports]
    return zlib.compress(json.dumps([references, imports]).encode(), 1)


def _unpack_facts(packed: bytes) -> tuple[list[CallReference], list[ImportBinding]]:
    """Unpack the references and imports of a file."""
    references, imports = json.loads(zlib.decompress(packed))
    return (
        [CallReference(name, line, within, _RECEIVER_KINDS[kind], text, arguments)
         for name, line, within, kind, text, arguments in references],
        [ImportBinding(*fields) for fields in imports],
    )  # fmt: skip


def _insert_facts(database: sqlite3.Connection, file: StaleFile, facts: CallFacts) -> None:
    path, stem = encode_stored_path(file.path), _get_module_stem(file.path)
    values = (file.id, path, stem, file.language, file.digest)
    database.execute("INSERT INTO source VALUES (?,?,?,?,?)", values)
    database.execute("INSERT INTO facts VALUES (?,?)", (file.id, _pack_facts(facts)))
    database.executemany(
        "INSERT INTO definition VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        [_make_definition_row(file.id, one) for one in facts.definitions],
    )
    bases = {
        (base.rpartition(".")[2], file.id, one.number)
        for one in facts.definitions
        for base in one.bases
    }
    database.executemany("INSERT INTO base VALUES (?,?,?)", bases)


def _collect_called_names(
    references: Sequence[CallReference], imports: Iterable[ImportBinding]
) -> set[str]:
    """Return the names a file calls, by their local names and the imported ones."""
    names = {one.name for one in references}
    # Foo.new of Ruby is a call of Foo.
    names |= {one.receiver_text.rpartition(".")[2] for one in references if one.name == "new"}
    return names | {each.name for each in imports if each.alias in names and each.name}


_DELETE_FACTS = (
    "DELETE FROM source WHERE file = ?",
    "DELETE FROM facts WHERE file = ?",
    "DELETE FROM definition WHERE file = ?",
    "DELETE FROM base WHERE file = ?",
)


def _delete_facts(database: sqlite3.Connection, files: Iterable[int]) -> None:
    for file in files:
        row = database.execute("SELECT packed FROM facts WHERE file = ?", (file,)).fetchone()
        if row is None:
            continue
        references, imports = _unpack_facts(row[0])
        mentions = {(_hash_name(name), file) for name in _collect_called_names(references, imports)}
        database.executemany("DELETE FROM mention WHERE name = ? AND file = ?", mentions)
        for statement in _DELETE_FACTS:
            database.execute(statement, (file,))


_CHANGED_SINCE_SQL = "SELECT file_id FROM catalogue.changed WHERE at > ?"

_DEFINITIONS = (
    "SELECT source.file, path, language, number, name, owner, kind, of_class, first, last, least,"
    " most, bases, returns FROM definition JOIN source USING (file)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedDefinition(SymbolDefinition):
    """A definition and the file it is in."""

    file: int
    path: str
    language: str

    @property
    def key(self) -> tuple[int, int]:
        """Return what identifies it."""
        return self.file, self.number


@dataclass(frozen=True, slots=True)
class FileCalls:
    """What a file calls and imports."""

    file: int
    path: str
    language: str
    references: list[CallReference]
    imports: list[ImportBinding]


class CallReader:
    """One connection, with the catalog attached; used by one thread at a time."""

    def __init__(self, path: Path, catalog_path: Path) -> None:
        self._path = path
        with translate_sqlite_errors(path):
            self._database = connect_calls(path, read_only=True)
            where = f"{catalog_path.absolute().as_uri()}?mode=ro"
            self._database.execute("ATTACH ? AS catalogue", (where,))
        self._version: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    @contextmanager
    def begin_snapshot(self) -> Iterator[None]:
        """Answer every query within the block from one snapshot."""
        with translate_sqlite_errors(self._path):
            self._database.execute("BEGIN")
            try:
                yield
            finally:
                self._database.execute("COMMIT")

    def read_version(self) -> tuple[int, int]:
        """Return two numbers that change when either database is written."""
        with translate_sqlite_errors(self._path):
            one = self._database.execute("PRAGMA main.data_version").fetchone()
            two = self._database.execute("PRAGMA catalogue.data_version").fetchone()
        return int(one[0]), int(two[0])

    def read_latest_change(self) -> int | None:
        """Return the number of the catalog's last change; None if it does not track changes."""
        has = "SELECT 1 FROM catalogue.sqlite_master WHERE name = 'changed'"
        if not self._query(has):
            return None  # not yet written by this version
        return int(self._query("SELECT coalesce(max(at), 0) FROM catalogue.changed")[0][0])

    def list_stale_files(
        self, languages: Collection[str], since: int | None = None
    ) -> list[StaleFile]:
        """Return the files of these languages whose facts are missing or outdated.

        With ``since``, only files that changed after that change are looked at.
        """
        chosen = "" if since is None else f" AND f.id IN ({_CHANGED_SINCE_SQL})"
        marks = ",".join("?" * len(languages))
        rows = self._query(
            "SELECT f.id, f.path, f.language, f.digest, f.size FROM catalogue.file AS f"  # noqa: S608 - question marks
            " LEFT JOIN main.source AS s ON s.file = f.id AND s.digest = f.digest"
            f" AND s.path = f.path WHERE s.file IS NULL AND f.language IN ({marks}){chosen}",
            (*languages, *(() if since is None else (since,))),
        )
        return [StaleFile(row[0], decode_stored_path(row[1]), *row[2:]) for row in rows]

    def list_deleted_files(self, since: int | None = None) -> list[int]:
        """Return the files with facts that the catalog no longer has."""
        chosen = "" if since is None else f" AND file IN ({_CHANGED_SINCE_SQL})"
        rows = self._query(
            "SELECT file FROM main.source"  # noqa: S608 - question marks
            f" WHERE file NOT IN (SELECT id FROM catalogue.file){chosen}",
            () if since is None else (since,),
        )
        return [row[0] for row in rows]

    def find_definitions(
        self, name: str, of_class: str | None = None, limit: int = -1
    ) -> list[LocatedDefinition]:
        """Return the definitions of this name, or those of them that belong to a class."""
        chosen = "" if of_class is None else " AND of_class = ?"
        values = (name, limit) if of_class is None else (name, of_class, limit)
        return self._query_definitions(f"name = ?{chosen} LIMIT ?", values)

    def list_definitions(self, file: int) -> list[LocatedDefinition]:
        """Return the definitions in a file."""
        return self._query_definitions("definition.file = ?", (file,))

    def find_definition(self, file: int, number: int) -> LocatedDefinition | None:
        """Return one definition."""
        found = self._query_definitions("definition.file = ? AND number = ?", (file, number))
        return found[0] if found else None

    def find_subclasses(self, base: str) -> list[LocatedDefinition]:
        """Return the classes that extend or implement something of this name."""
        keys = self._query("SELECT file, number FROM base WHERE name = ?", (base,))
        return [placed for key in keys if (placed := self.find_definition(*key))]

    def find_calling_files(self, name: str) -> list[tuple[int, str, str]]:
        """Return id, path and language of the files that call a name with this checksum."""
        rows = self._query(
            "SELECT source.file, path, language FROM mention JOIN source USING (file)"
            " WHERE mention.name = ?",
            (_hash_name(name),),
        )
        return [(row[0], decode_stored_path(row[1]), row[2]) for row in rows]

    def read_calls(self, file: int) -> FileCalls | None:
        """Return what a file calls and imports; None if it is not known."""
        rows = self._query(
            "SELECT path, language, packed FROM source JOIN facts USING (file) WHERE file = ?",
            (file,),
        )
        if not rows:
            return None
        path, language, packed = rows[0]
        return FileCalls(file, decode_stored_path(path), language, *_unpack_facts(packed))

    def find_files_by_stem(self, stem: str) -> list[tuple[int, str]]:
        """Return id and path of the files that a module of this name may be."""
        rows = self._query("SELECT file, path FROM source WHERE stem = ?", (stem,))
        return [(row[0], decode_stored_path(row[1])) for row in rows]

    def find_file_id(self, path: str) -> int | None:
        """Return the id of the file at a path."""
        rows = self._query("SELECT file FROM source WHERE path = ?", (encode_stored_path(path),))
        return int(rows[0][0]) if rows else None

    def _query_definitions(self, where: str, values: Sequence[object]) -> list[LocatedDefinition]:
        rows = self._query(f"{_DEFINITIONS} WHERE {where}", values)
        return [
            LocatedDefinition(
                *[*fields, split_names(bases), returns],
                file=file, path=decode_stored_path(path), language=language,
            )
            for file, path, language, *fields, bases, returns in rows
        ]  # fmt: skip

    def _query(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with translate_sqlite_errors(self._path):
            return self._database.execute(statement, values).fetchall()
