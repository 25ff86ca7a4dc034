"""A copy of a catalog for another machine: the rows in a database, the texts of files beside it.

Texts compress three times as well together as one by one, so they travel apart. Nothing in a copy
is trusted because it is there: its tables must be ours, and its paths inside a repository.
"""

import os
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from codekernel.storage.catalog.rows import (
    compress_text,
    connect_catalog,
    decode_stored_path,
    decompress_text,
)
from codekernel.storage.catalog.tables import CATALOG_FORMAT, create_tables
from codekernel.storage.engines import CatalogDamaged, read_user_version, translate_sqlite_errors
from codekernel.storage.page_checksums import PageChecksums

# The id of a file and the length of its text.
_TEXT_HEADER = struct.Struct("<QQ")

# A file that is indexed has at most 2 MB; a text of another encoding may become longer.
MAX_TEXT_BYTES = 64 * 1024 * 1024

# No file on a disk has this time, so that every one is compared with its digest.
_UNKNOWN_TIME = -1

_SCHEMA = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"


# Reads so many bytes; fewer only at the end.
ReadExactly: TypeAlias = Callable[[int], bytes]


def copy_catalog(source: Path, target: Path) -> None:
    """Copy the rows of a catalog that nobody writes, without the texts of files."""
    with (
        translate_sqlite_errors(source),
        closing(connect_catalog(source, read_only=True)) as from_,
        closing(sqlite3.connect(target, isolation_level=None)) as database,
    ):
        from_.backup(database)
        if database.execute("SELECT 1 FROM pending").fetchone():
            raise CatalogDamaged(f"{source} has files that are not indexed completely")
        database.execute("PRAGMA journal_mode = DELETE").fetchall()
        database.execute("DELETE FROM document")
        for table in ("file", "refused"):
            database.execute(f"UPDATE {table} SET mtime_ns = {_UNKNOWN_TIME}")  # noqa: S608
        database.execute("VACUUM")


def iterate_texts(source: Path) -> Iterator[bytes]:
    """Yield the texts of all files of a catalog as ``restore_texts`` reads them."""
    with translate_sqlite_errors(source), closing(connect_catalog(source, read_only=True)) as from_:
        for file_id, stored in from_.execute("SELECT file_id, text FROM document ORDER BY file_id"):
            text = decompress_text(stored).encode(errors="surrogatepass")
            yield _TEXT_HEADER.pack(file_id, len(text)) + text


def restore_catalog(path: Path, read: ReadExactly) -> None:
    """Check a copy, and put the texts into it. Raises CatalogDamaged."""
    with (
        translate_sqlite_errors(path),
        closing(sqlite3.connect(path, isolation_level=None)) as database,
    ):
        # Before anything of it is used: what is in a schema may be run.
        database.execute("PRAGMA trusted_schema = OFF")
        check_schema(database, path)
        check_paths(database, path)
        # It is thrown away if this fails.
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        database.executemany("INSERT INTO document VALUES (?, ?)", _read_texts(path, read))
        lacking = "SELECT 1 FROM file WHERE id NOT IN (SELECT file_id FROM document)"
        if database.execute(lacking).fetchone():
            raise CatalogDamaged(f"{path} has files without a text")
        database.execute("COMMIT")
        # As its writer opens it: the mode is in the first page, which has a checksum, too.
        database.execute("PRAGMA journal_mode = WAL").fetchall()
    PageChecksums(path).adopt_current_pages()


def check_schema(database: sqlite3.Connection, path: Path) -> None:
    """Raise CatalogDamaged unless tables and triggers are exactly ours."""
    version = read_user_version(database)
    if version != CATALOG_FORMAT:
        raise CatalogDamaged(f"{path} has format {version}, not {CATALOG_FORMAT}")
    with closing(sqlite3.connect(":memory:")) as ours:
        create_tables(ours)
        expected = set(ours.execute(_SCHEMA))
    if set(database.execute(_SCHEMA)) != expected:
        raise CatalogDamaged(f"{path} has other tables than a catalog")


def check_paths(database: sqlite3.Connection, path: Path) -> None:
    """Raise CatalogDamaged for a path that leads out of its repository."""
    for table in ("file", "refused"):
        for (stored,) in database.execute(f"SELECT path FROM {table}"):  # noqa: S608
            name = decode_stored_path(bytes(stored))
            if not is_path_inside(name.removesuffix("/")):
                raise CatalogDamaged(f"{path} names a file outside of a repository: {name!r}")


def is_path_inside(name: str) -> bool:
    """Return whether a relative path cannot lead out of the folder it is relative to."""
    is_foreign = os.name == "nt" and any(sign in name for sign in "\\:")
    return not is_foreign and "\0" not in name and {"", ".", ".."}.isdisjoint(name.split("/"))


def _read_texts(path: Path, read: ReadExactly) -> Iterator[tuple[int, bytes]]:
    while header := read(_TEXT_HEADER.size):
        if len(header) < _TEXT_HEADER.size:
            raise CatalogDamaged(f"the texts of {path} are cut off")
        file_id, size = _TEXT_HEADER.unpack(header)
        if size > MAX_TEXT_BYTES:
            raise CatalogDamaged(f"a text of {path} is too long")
        text = read(size)
        if len(text) < size:
            raise CatalogDamaged(f"the texts of {path} are cut off")
        yield file_id, compress_text(text.decode(errors="surrogatepass"))
