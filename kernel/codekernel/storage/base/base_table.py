"""The table of a base: filled by one committer, published under a tag, searched at that tag.

A fill is one commit that replaces all rows; who has opened a tag goes on reading what was there.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from codekernel.errors import StorageError
from codekernel.storage.base.base_rows import (
    CHUNK_COLUMNS,
    PATH,
    REPOSITORY,
    TERMS,
    TEXT,
    VECTOR,
)
from codekernel.storage.vectors.in_memory_vectors import normalize_rows
from codekernel.storage.vectors.lancedb_import import READ_AHEAD_VARIABLE, import_lancedb

TABLE_NAME = "chunks"

# Of the build that is searched; each build has one of its own, too.
PUBLISHED_TAG = "published"

_BUILD_TAG = "build-{}"

# Builds that stay, so that kernels that opened one of them go on.
KEPT_BUILDS = 2

# Whoever has opened an older version has long ended its search.
MIN_VERSION_AGE = timedelta(hours=1)

# Below, every vector is compared, which is exact and needs no index.
MIN_INDEXED_ROWS = 20_000

# About the square root of the rows; a partition of four thousand is read as one piece.
ROWS_PER_PARTITION = 4_096

# Rows of each partition from which its centre is found.
SAMPLED_ROWS = 64

# Bits of a row must fill bytes; of other models the vectors themselves are indexed.
BITS_PER_BYTE = 8

# Some 300 bytes a row are loaded.
MAX_PREWARMED_ROWS = 300_000

ROW_ID, DISTANCE, SCORE = "_rowid", "_distance", "_score"

Row: TypeAlias = dict[str, Any]


class BaseTableError(StorageError):
    """LanceDB or its store refused; the message is theirs."""


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Where a table lies, and what LanceDB is told to reach it."""

    uri: str
    options: Mapping[str, str] = field(default_factory=dict)


# Of 66 of 272,000 chunks: 20 held .997 of the best ten and .952 of the best hundred, 32 1.000 and
# .982 (bench.py base_vectors).
SEARCHED_PARTITIONS = 32

# Chunks of one repository are spread over all partitions: of 73, 32 held .71 of its best ten.
FILTERED_PARTITIONS = 256


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        raise BaseTableError(str(error)) from error


class BaseTableWriter:
    """The one committer of a base."""

    def __init__(self, place: TablePlace) -> None:
        with _translate_errors():
            self._database = _connect(place)
        self._table: Any = None

    def fill(self, schema: Any, batches: Iterator[Any]) -> None:
        """Replace all rows, in one commit. Raises BaseTableError, or what ``batches`` raises."""
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        mode = "overwrite" if self._find_table() else "create"
        with _translate_errors():
            self._table = self._database.create_table(
                TABLE_NAME, data=reader, schema=schema, mode=mode
            )

    def find_published(self) -> int | None:
        """Return the version that is published; None if there is none yet."""
        table = self._find_table()
        with _translate_errors():
            found = table.tags.list().get(PUBLISHED_TAG) if table else None
        return found["version"] if found else None

    def list_index_columns(self) -> list[str]:
        """Return the columns to index of what was filled in."""
        if self.count_rows() < MIN_INDEXED_ROWS:
            return [TERMS, REPOSITORY, PATH]
        return [TERMS, REPOSITORY, PATH, VECTOR]

    def build_index(self, column: str) -> None:
        """Index a column of what was filled in."""
        with _translate_errors():
            self._table.create_index(column, config=self._configure(column), replace=True)

    def require_complete_indexes(self) -> None:
        """Raise BaseTableError if a row is in no index: every search would read it anew."""
        with _translate_errors():
            for index in self._table.list_indices():
                found = self._table.index_stats(index.name)
                if found is None or found.num_unindexed_rows:
                    raise BaseTableError(f"the index {index.name} does not have all rows")

    def _find_table(self) -> Any:
        try:
            return self._database.open_table(TABLE_NAME)
        except (OSError, RuntimeError, ValueError):  # none yet; filling it says what else is wrong
            return None

    def _configure(self, column: str) -> Any:
        kinds: Any = import_lancedb().index
        if column == REPOSITORY:
            return kinds.Bitmap()
        if column == PATH:
            return kinds.BTree()
        if column == TERMS:  # which are stems already
            return kinds.FTS(
                base_tokenizer="whitespace",
                with_position=False,
                lower_case=False,
                stem=False,
                remove_stop_words=False,
                ascii_folding=False,
                max_token_length=None,
            )
        # A bit a number needs no codebook: 272,000 rows take 3.5 s of CPU, where the training of a
        # product quantization takes 40 for 100,000. A byte a number takes five times the bytes.
        # The last version of LanceDB for Intel Macs may not have this kind, and builds no base.
        dimensions = self._table.schema.field(VECTOR).type.list_size
        kind = kinds.IvfFlat if dimensions % BITS_PER_BYTE else kinds.IvfRq
        return kind(
            distance_type="cosine",
            num_partitions=max(1, self.count_rows() // ROWS_PER_PARTITION),
            sample_rate=SAMPLED_ROWS,
        )

    @property
    def version(self) -> int:
        """Return the version of what was filled in and indexed."""
        version: int = self._table.version
        return version

    def count_rows(self) -> int:
        """Count what was filled in."""
        count: int = self._table.count_rows()
        return count

    def publish(self) -> list[int]:
        """Let ``published`` be what was filled in; return the versions of all builds that stay."""
        version = self.version
        with _translate_errors():
            tags = self._table.tags
            known = tags.list()
            _set_tag(tags, _BUILD_TAG.format(version), version, known)
            _set_tag(tags, PUBLISHED_TAG, version, known)
            builds = sorted({tag["version"] for tag in tags.list().values()}, reverse=True)
            for old in builds[KEPT_BUILDS:]:
                with suppress(ValueError, RuntimeError):  # another committer was quicker
                    tags.delete(_BUILD_TAG.format(old))
        return builds[:KEPT_BUILDS]

    def clean(self, kept: Sequence[int]) -> None:
        """Delete the files of versions that are older than all builds that stay."""
        with _translate_errors():
            dates = {it["version"]: it["timestamp"] for it in self._table.list_versions()}
            oldest = min(dates[version].astimezone(UTC) for version in kept)
            age = max(datetime.now(UTC) - oldest + timedelta(seconds=1), MIN_VERSION_AGE)
            self._table.optimize(cleanup_older_than=age)


def _set_tag(tags: Any, name: str, version: int, known: Mapping[str, Any]) -> None:
    if name in known:
        tags.update(name, version)
    else:
        tags.create(name, version)


class BaseTable:
    """A table at a tag; searched by any thread. All methods raise BaseTableError."""

    def __init__(self, place: TablePlace, tag: str = PUBLISHED_TAG) -> None:
        if "://" not in place.uri and not Path(place.uri).is_dir():  # which connecting would make
            raise BaseTableError(f"there is no table at {place.uri}; is its folder mounted?")
        with _translate_errors():
            self._table = _connect(place).open_table(TABLE_NAME)
            self._table.checkout(tag)
            self.version: int = self._table.version

    def search_terms(
        self, stems: Sequence[str], repos: Sequence[str], limit: int, *, needs_all: bool = False
    ) -> list[Row]:
        """Return the chunks with any of these stems, or all, best first by LanceDB's own BM25.

        Of these repositories, or of all if none is named; with their terms.
        """
        with _translate_errors():
            matches = _match(stems, needs_all=needs_all)
            search = self._table.search(matches, query_type="fts")
            return self._collect(search, repos, limit, [*CHUNK_COLUMNS, TERMS, SCORE])

    def search_vectors(
        self, vector: npt.NDArray[np.float32], repos: Sequence[str], limit: int
    ) -> list[Row]:
        """Return the chunks that are nearest to a vector, with the distance of the cosine."""
        with _translate_errors():
            search = self._table.search(vector, vector_column_name=VECTOR)
            partitions = FILTERED_PARTITIONS if repos else SEARCHED_PARTITIONS
            search = search.distance_type("cosine").nprobes(partitions)
            # Bits choose the hits; how near each of them is, its exact vector says.
            search = search.refine_factor(1)
            return self._collect_nearest(search, vector, repos, limit)

    def search_exactly(
        self, vector: npt.NDArray[np.float32], repos: Sequence[str], limit: int
    ) -> list[Row]:
        """Return what ``search_vectors`` would if every vector of the table was compared."""
        with _translate_errors():
            search = self._table.search(vector, vector_column_name=VECTOR)
            search = search.distance_type("cosine").bypass_vector_index()
            return self._collect_nearest(search, vector, repos, limit)

    def list_chunks(self, repo: str, paths: Sequence[str]) -> list[Row]:
        """Return the chunks of some files, with their terms."""
        if not paths:
            return []
        named = ", ".join(map(_quote, paths))
        with _translate_errors():
            search = self._table.search().where(
                f"{REPOSITORY} = {_quote(repo)} AND {PATH} IN ({named})"
            )
            search = search.with_row_id(with_row_id=True)
            rows: list[Row] = search.select([*CHUNK_COLUMNS, TERMS]).to_list()
            return rows

    def read_texts(self, row_ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of chunks by their row."""
        if not row_ids:
            return {}
        with _translate_errors():
            taken = self._table.take_row_ids([*row_ids]).with_row_id().select([TEXT])
            return {row[ROW_ID]: row[TEXT] for row in taken.to_list()}

    def prewarm(self) -> None:
        """Load what every search reads, at once: the indexes, unless they are large, and a row."""
        with _translate_errors():
            names = {each.columns[0]: each.name for each in self._table.list_indices()}
            if self.count_rows() > MAX_PREWARMED_ROWS:
                names = {}
            searched = [names.pop(it) for it in (TERMS, VECTOR, REPOSITORY) if it in names]
            with ThreadPoolExecutor(len(searched) + 1, "team-base") as threads:
                loading = [threads.submit(self._table.prewarm_index, name) for name in searched]
                loading.append(threads.submit(self._read_any_row))
            for each in loading:
                each.result()
            for name in names.values():  # by which no search begins
                self._table.prewarm_index(name)

    def _read_any_row(self) -> None:
        """Let Lance learn where the columns of its files are, which it keeps."""
        self._table.search().select([*CHUNK_COLUMNS, TERMS, TEXT, VECTOR]).limit(1).to_list()

    def count_rows(self) -> int:
        """Count the chunks."""
        with _translate_errors():
            count: int = self._table.count_rows()
        return count

    def _collect_nearest(
        self, search: Any, vector: npt.NDArray[np.float32], repos: Sequence[str], limit: int
    ) -> list[Row]:
        """Return what is nearest, with the distance that the vectors have in a local index.

        LanceDB multiplies in 16 bits: its cosines are up to .00006 away.
        """
        columns = [*CHUNK_COLUMNS, VECTOR, DISTANCE]
        found = _limit(search, repos, limit, columns).to_arrow()
        vectors = found[VECTOR].combine_chunks().flatten().to_numpy().reshape(len(found), -1)
        cosines = normalize_rows(vectors) @ normalize_rows(vector.reshape(1, -1))[0]
        rows: list[Row] = found.drop_columns([VECTOR]).to_pylist()
        for row, cosine in zip(rows, cosines.tolist(), strict=True):
            row[DISTANCE] = 1 - cosine
        return sorted(rows, key=itemgetter(DISTANCE))

    def _collect(
        self, search: Any, repos: Sequence[str], limit: int, columns: list[str]
    ) -> list[Row]:
        rows: list[Row] = _limit(search, repos, limit, columns).to_list()
        return rows


def _limit(search: Any, repos: Sequence[str], limit: int, columns: list[str]) -> Any:
    if repos:
        named = ", ".join(map(_quote, repos))
        search = search.where(f"{REPOSITORY} IN ({named})", prefilter=True)
    return search.with_row_id(with_row_id=True).select(columns).limit(limit)


def _match(stems: Sequence[str], *, needs_all: bool) -> Any:
    query: Any = import_lancedb().query
    operator = query.FullTextOperator.AND if needs_all else query.FullTextOperator.OR
    return query.MatchQuery(" ".join(stems), TERMS, operator=operator)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _connect(place: TablePlace) -> Any:
    os.environ.setdefault(*READ_AHEAD_VARIABLE)
    return import_lancedb().connect(place.uri, storage_options=dict(place.options) or None)
