"""The catalogue of one repository: which files are indexed, as which chunks, and which are not.

One thread writes (``catalogue_batch.py``); any number read, each on a connection of its own for the
moment, so that nobody waits.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kernel.domain.indexed import IndexedChunk, KnownFile, Refused
from kernel.errors import StorageError
from kernel.storage.catalogue_failures import sqlite_errors
from kernel.storage.catalogue_memory import PARAMETERS, Reader, Texts
from kernel.storage.catalogue_rows import (
    CHUNK_COLUMNS,
    indexed_chunk,
    packed,
    path_bytes,
    path_text,
    split_names,
    unpacked,
)
from kernel.storage.catalogue_schema import connect

if TYPE_CHECKING:
    from kernel.storage.vector_codes import Int64Array

Value = TypeVar("Value")


class Catalogue:
    """What has been read; every question is answered from one consistent moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # The last one used is the next one used: it remembers most.
        self._idle: deque[Reader] = deque()
        self._texts = Texts()
        self._closed = threading.Event()
        self._identity = _identity(path)

    def files(self) -> dict[str, KnownFile]:
        """Every indexed file by its path."""
        with self._reading() as database:
            rows = database.execute("SELECT path, id, size, mtime_ns, digest FROM file")
            return {path_text(row[0]): KnownFile(*row[1:]) for row in rows}

    def file(self, path: str) -> KnownFile | None:
        """One indexed file."""
        with self._reading() as database:
            row = database.execute(
                "SELECT id, size, mtime_ns, digest FROM file WHERE path = ?", (path_bytes(path),)
            ).fetchone()
            return KnownFile(*row) if row else None

    def files_at(self, paths: Sequence[str]) -> dict[str, KnownFile]:
        """Those of the paths that are indexed files."""
        with self._remembering() as reader:
            return reader.files_at(paths)

    def files_under(self, folder: str) -> dict[str, KnownFile]:
        """The indexed files of a folder and of the folders in it."""
        low, high = path_bytes(f"{folder}/"), path_bytes(f"{folder}0")  # 0 comes after /
        with self._reading() as database:
            rows = database.execute(
                "SELECT path, id, size, mtime_ns, digest FROM file WHERE path >= ? AND path < ?",
                (low, high),
            )
            return {path_text(row[0]): KnownFile(*row[1:]) for row in rows}

    def refused(self) -> dict[str, Refused]:
        """Every file that was looked at and not indexed."""
        with self._reading() as database:
            rows = database.execute("SELECT path, reason, detail, size, mtime_ns FROM refused")
            return {path_text(row[0]): Refused(path_text(row[0]), *row[1:]) for row in rows}

    def first_refused(self, limit: int) -> tuple[list[Refused], int]:
        """So many of the files that were not indexed, by path, and how many there are."""
        with self._reading() as database:
            rows = database.execute(
                "SELECT path, reason, detail, size, mtime_ns FROM refused ORDER BY path LIMIT ?",
                (limit,),
            )
            found = [Refused(path_text(row[0]), *row[1:]) for row in rows]
            (total,) = database.execute("SELECT count(*) FROM refused").fetchone()
            return found, int(total)

    def symbol_names(self, limit: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The names around chunks and those they define, each pair once, ``limit`` at the most."""
        with self._reading() as database:
            rows = database.execute("SELECT DISTINCT symbols, defines FROM chunk LIMIT ?", (limit,))
            return [(split_names(around), split_names(own)) for around, own in rows]

    def refusal(self, path: str) -> Refused | None:
        """Why one file is not indexed, if that is known."""
        with self._reading() as database:
            row = database.execute(
                "SELECT reason, detail, size, mtime_ns FROM refused WHERE path = ?",
                (path_bytes(path),),
            ).fetchone()
            return Refused(path, *row) if row else None

    @property
    def is_at_its_place(self) -> bool:
        """Whether the file that was opened is still the one with its name."""
        return _identity(self.path) == self._identity

    @property
    def is_empty(self) -> bool:
        """Whether no file is indexed; known at once, however many there are."""
        with self._reading() as database:
            return database.execute("SELECT 1 FROM file LIMIT 1").fetchone() is None

    def counts(self) -> tuple[int, int, int]:
        """How many files, chunks and refused files there are."""
        with self._reading() as database:
            row = database.execute(
                "SELECT (SELECT count(*) FROM file), (SELECT count(*) FROM chunk),"
                " (SELECT count(*) FROM refused)"
            ).fetchone()
            return int(row[0]), int(row[1]), int(row[2])

    def refused_by_reason(self) -> dict[str, int]:
        """How many files are not indexed, for each reason."""
        with self._reading() as database:
            return dict(
                database.execute("SELECT reason, count(*) FROM refused GROUP BY reason").fetchall()
            )

    def input_lengths(self) -> list[int]:
        """The input lengths for which there are chunks."""
        with self._reading() as database:
            rows = database.execute("SELECT DISTINCT input_length FROM chunk")
            return sorted(row[0] for row in rows)

    def files_without(self, input_length: int) -> list[int]:
        """The files that have not been cut for this input length; of an empty one nothing comes."""
        with self._reading() as database:
            rows = database.execute(
                "SELECT id FROM file WHERE NOT EXISTS (SELECT 1 FROM chunk"
                " WHERE chunk.file_id = file.id AND chunk.input_length = ?)"
                " AND NOT EXISTS (SELECT 1 FROM document"
                " WHERE document.file_id = file.id AND document.text = ?) ORDER BY id",
                (input_length, packed("")),
            )
            return [row[0] for row in rows]

    def keys(self, input_length: int) -> "tuple[Int64Array, Int64Array]":
        """For each chunk of one cut, its file and the key of its text, in two columns."""
        import numpy as np  # noqa: PLC0415 - the catalogue is opened before it is needed

        pairs = np.dtype([("file", np.int64), ("key", np.int64)])
        with self._reading() as database:
            rows = database.execute(
                "SELECT file_id, key FROM chunk WHERE input_length = ?", (input_length,)
            )
            found = np.fromiter(rows, dtype=pairs)
        return found["file"], found["key"]

    def every_key(self) -> "Int64Array":
        """The keys of all chunks, whatever their cut; read from an index of the database alone."""
        import numpy as np  # noqa: PLC0415 - the catalogue is opened before it is needed

        with self._reading() as database:
            rows = database.execute("SELECT key FROM chunk")
            return np.fromiter((key for (key,) in rows), np.int64)

    def text_count(self) -> int:
        """How many different texts all chunks have."""
        with self._reading() as database:
            (count,) = database.execute("SELECT count(DISTINCT key) FROM chunk").fetchone()
            return int(count)

    def path_of(self, file_id: int) -> str | None:
        """The path of a file."""
        with self._reading() as database:
            row = database.execute("SELECT path FROM file WHERE id = ?", (file_id,)).fetchone()
            return path_text(row[0]) if row else None

    def files_named(self, names: Collection[str]) -> dict[str, int]:
        """The ids of the files with one of these names, with or without their extension."""
        wanted = {name.lower() for name in names}
        # LIKE knows the capitals of ASCII only; with other names every path is looked at here.
        likely = [f"%{name}%" for name in wanted] if all(map(str.isascii, wanted)) else ["%"]
        found: dict[str, int] = {}
        with self._reading() as database:
            for portion in _portions(likely):
                either = " OR ".join(["CAST(path AS TEXT) LIKE ?"] * len(portion))
                rows = database.execute(
                    f"SELECT path, id FROM file WHERE {either} ORDER BY path",  # noqa: S608 - question marks
                    portion,
                )
                found.update((path_text(path), number) for path, number in rows)
        return {path: found[path] for path in found if not wanted.isdisjoint(_names(path))}

    def documents(
        self, wanted: Callable[[str, str], bool], among: Collection[int] | None = None
    ) -> Generator[tuple[int, str, str], None, None]:
        """Id, path and text of each file whose path and language are wanted, ordered by path.

        ``among`` limits it to files with these ids. One text at a time is in memory; the answer is
        from one moment, however long it takes, so it is to be closed when no more is wanted.
        """
        with self._reading() as database:
            rows = database.execute("SELECT id, path, language FROM file ORDER BY path")
            for file_id, stored, language in rows:
                path = path_text(stored)
                if (among is None or file_id in among) and wanted(path, language):
                    (text,) = database.execute(
                        "SELECT text FROM document WHERE file_id = ?", (file_id,)
                    ).fetchone()
                    yield file_id, path, unpacked(text)

    def files_of(self, ids: Sequence[int]) -> set[int]:
        """The files that the chunks with these ids are of."""
        found: set[int] = set()
        with self._reading() as database:
            for portion in _portions(ids):
                rows = database.execute(
                    f"SELECT DISTINCT file_id FROM chunk WHERE id IN ({_marks(portion)})",  # noqa: S608 - question marks
                    portion,
                )
                found.update(row[0] for row in rows)
        return found

    def document(self, file_id: int) -> str:
        """The text of a file as it was read; empty if the file is gone."""
        with self._reading() as database:
            row = database.execute(
                "SELECT text FROM document WHERE file_id = ?", (file_id,)
            ).fetchone()
            return unpacked(row[0]) if row else ""

    def chunks_of(self, file_id: int, input_length: int | None = None) -> list[IndexedChunk]:
        """The chunks of one file in order, of one cut or of all."""
        chosen = "" if input_length is None else " AND chunk.input_length = ?"
        parameters = (file_id,) if input_length is None else (file_id, input_length)
        with self._reading() as database:
            rows = database.execute(
                f"SELECT {CHUNK_COLUMNS} FROM chunk JOIN file ON file.id = chunk.file_id"  # noqa: S608 - constants
                f" WHERE chunk.file_id = ?{chosen} ORDER BY chunk.input_length, chunk.begin_char",
                parameters,
            )
            return [indexed_chunk(row) for row in rows]

    def chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """The chunks with these ids that still exist."""
        with self._remembering() as reader:
            return reader.chunks(ids)

    def chunks_with_keys(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """For each key, the chunks whose text it names; several files may hold the same text."""
        with self._remembering() as reader:
            return reader.chunks_with_keys(keys)

    def contents(self, ids: Sequence[int]) -> dict[int, str]:
        """The text of each chunk that still exists, by its id."""
        with self._remembering() as reader:
            return reader.contents(ids)

    def close(self) -> None:
        """Close every connection; questions still being answered close theirs when done."""
        self._closed.set()
        with suppress(IndexError):
            while True:
                self._idle.pop().database.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for one question, inside a read transaction."""
        with self._remembering() as reader:
            yield reader.database

    @contextmanager
    def _remembering(self) -> Iterator[Reader]:
        """The same, with what was read before."""
        if self._closed.is_set():
            raise StorageError("the index is closed")
        with sqlite_errors(self.path):
            try:
                reader = self._idle.pop()
            except IndexError:
                reader = Reader(connect(self.path, read_only=True), self._texts)
            try:
                reader.database.execute("BEGIN")
                yield reader
                reader.database.execute("COMMIT")
            except BaseException:
                reader.database.close()
                raise
            if self._closed.is_set():
                reader.database.close()
            else:
                self._idle.append(reader)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _names(path: str) -> set[str]:
    """The name of a file, in small letters, whole and without its extension."""
    name = path.rpartition("/")[2].lower()
    return {name, name.rpartition(".")[0] or name}


def _portions(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    for start in range(0, len(values), PARAMETERS):
        yield values[start : start + PARAMETERS]


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
