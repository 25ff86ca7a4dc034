"""A base opened at its tag, and one repository of it: files, terms, and searches with a deadline.

LanceDB may wait for a store for minutes; nobody waits longer than the deadline for it, and a store
that failed is left alone for a moment.
"""

import logging
import queue
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from codekernel.base.base_place import BasePlace
from codekernel.base.manifest import BaseManifest, BaseRepository, read_manifest
from codekernel.base.part_building import FILE_COLUMNS
from codekernel.base.term_statistics import TermStatistics, parse_term_columns
from codekernel.domain.index import IndexedChunk
from codekernel.errors import StorageError
from codekernel.sharing.object_store import explain_failure
from codekernel.storage.base.base_rows import decode_columns, parse_chunk
from codekernel.storage.base.base_table import ROW_ID, BaseTable, BaseTableError, Row

logger = logging.getLogger(__name__)

# What a person waits for the base; then what is here is the answer.
SEARCH_TIMEOUT_SECONDS = 0.8

# Opening: the newest version is found, and the manifest of the build is read.
OPEN_TIMEOUT_SECONDS = 10.0

# After a failure nobody waits for the store again so soon.
BACKOFF_SECONDS = 5.0

# Requests that wait for a store that hangs; more would only wait, too.
MAX_WAITING_REQUESTS = 16

Result = TypeVar("Result")

Vector = npt.NDArray[np.float32]


class BaseUnavailable(StorageError):
    """The base cannot be searched now; the message says why."""


class Deadline:
    """A moment until which somebody waits."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends_at = time.monotonic() + seconds

    @property
    def remaining(self) -> float:
        """Return how many seconds are left."""
        return self._ends_at - time.monotonic()


class BaseRequests:
    """Runs requests to one base, each on a thread that may be left behind."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self._clock = name, clock
        self._retry_at, self._reason = -float("inf"), ""
        self._places = threading.BoundedSemaphore(MAX_WAITING_REQUESTS)

    def run(self, request: Callable[[], Result], deadline: Deadline) -> Result:
        """Return what a request returns, or raise BaseUnavailable."""
        if self._clock() < self._retry_at:
            raise self._describe(self._reason)
        if not self._places.acquire(blocking=False):
            raise self._fail("it does not answer what was asked before")
        answers: queue.SimpleQueue[tuple[Result | None, Exception | None]] = queue.SimpleQueue()

        def answer() -> None:
            try:
                answers.put((request(), None))
            except (StorageError, OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
                answers.put((None, error))
            finally:
                self._places.release()

        threading.Thread(target=answer, name="team-base", daemon=True).start()
        try:
            found, error = answers.get(timeout=max(0.0, deadline.remaining))
        except queue.Empty:
            raise self._fail(f"it has not answered within {deadline.seconds:g} s") from None
        if error is not None:
            raise self._fail(_explain(error)) from error
        return found  # type: ignore[return-value]

    def _fail(self, reason: str) -> BaseUnavailable:
        self._retry_at, self._reason = self._clock() + BACKOFF_SECONDS, reason
        logger.info("the base %s: %s", self._name, reason)
        return self._describe(reason)

    def _describe(self, reason: str) -> BaseUnavailable:
        return BaseUnavailable(f"The team's base {self._name} cannot be searched now: {reason}")


# What LanceDB says, and what it means; the first that is found counts.
_EXPLANATIONS = (
    (r"Table '\w+' was not found", "it was never built, or has been deleted"),
    (r"there is no table at", "there is none in the store; is its folder mounted?"),
    (r"(?i)tag \S+ (?:does not exist|not found)", "no build of it has been published yet"),
)

_GONE = r"(?i)\bnot found\b"


def _explain(error: Exception) -> str:
    """Return why a request failed, in words a person understands."""
    text = str(error)
    if not isinstance(error, BaseTableError):
        return text
    for pattern, meaning in _EXPLANATIONS:
        if re.search(pattern, text):
            return meaning
    known = explain_failure(text)
    if known == text.partition("\n")[0][:300] and re.search(_GONE, text):
        return "a file of its table is gone; is the store still there?"
    return known


@dataclass(frozen=True, slots=True)
class OpenedBase:
    """A base at the build that its tag named when it was opened."""

    place: BasePlace
    table: BaseTable
    manifest: BaseManifest
    requests: BaseRequests


def open_base(place: BasePlace) -> OpenedBase:
    """Open a base at the tag ``published``. Raises BaseUnavailable."""
    requests, deadline = BaseRequests(place.name), Deadline(OPEN_TIMEOUT_SECONDS)

    def open_() -> OpenedBase:
        table = BaseTable(place.table)
        manifest = read_manifest(place.store, place.folder, table.version)
        return OpenedBase(place, table, manifest, requests)

    return requests.run(open_, deadline)


@dataclass(frozen=True, slots=True)
class BaseFile:
    """A file of a repository in a base."""

    digest: bytes
    chunks: int
    # What stands for it among the numbers of local files; local ones are positive.
    file_id: int


@dataclass(frozen=True, slots=True)
class BaseHit:
    """A chunk of a base, found by its terms, by its vector, or by its path."""

    chunk: IndexedChunk
    terms: str = ""
    cosine: float = 0.0


class BaseRepositoryReader:
    """One repository of a base; used by any thread."""

    def __init__(self, base: OpenedBase, repository: BaseRepository) -> None:
        """Fetch its files and terms. Raises StorageError."""
        self.base, self.repository = base, repository
        store = base.place.store
        with ThreadPoolExecutor(1, "team-base") as threads:
            reading = threads.submit(store.read, repository.terms)
            listed = decode_columns(store.read(repository.file_list))
        rows = zip(*(listed.get(name, ()) for name in FILE_COLUMNS), strict=True)
        self.files = {
            path: BaseFile(digest, chunks, -1 - number)
            for number, (path, digest, chunks) in enumerate(rows)
        }
        self.paths = list(self.files)
        self.statistics: TermStatistics = parse_term_columns(
            decode_columns(reading.result()), repository.chunks
        )

    def search_terms(self, stems: Sequence[str], limit: int, deadline: Deadline) -> list[BaseHit]:
        """Return chunks with any of these stems. Raises BaseUnavailable."""
        label, table = self.repository.label, self.base.table
        rows = self._run(lambda: table.search_terms(stems, [label], limit), deadline)
        return [BaseHit(self._parse(row), row["terms"]) for row in rows]

    def find_all_terms(self, stems: Sequence[str], limit: int, deadline: Deadline) -> list[BaseHit]:
        """Return chunks with all of these stems, in any field. Raises BaseUnavailable."""
        label, table = self.repository.label, self.base.table
        search = partial(table.search_terms, stems, [label], limit, needs_all=True)
        return [BaseHit(self._parse(row), row["terms"]) for row in self._run(search, deadline)]

    def search_vectors(self, vector: Vector, limit: int, deadline: Deadline) -> list[BaseHit]:
        """Return the chunks that are nearest to a vector. Raises BaseUnavailable."""
        label, table = self.repository.label, self.base.table
        rows = self._run(lambda: table.search_vectors(vector, [label], limit), deadline)
        return [BaseHit(self._parse(row), cosine=1 - row["_distance"]) for row in rows]

    def list_chunks(self, paths: Sequence[str], deadline: Deadline) -> list[BaseHit]:
        """Return the chunks of files, in order. Raises BaseUnavailable."""
        label, table = self.repository.label, self.base.table
        rows = self._run(lambda: table.list_chunks(label, paths), deadline)
        found = [BaseHit(self._parse(row), row["terms"]) for row in rows]
        return sorted(found, key=lambda it: (it.chunk.path, it.chunk.begin))

    def read_texts(self, ids: Sequence[int], deadline: Deadline) -> dict[int, str]:
        """Return the texts of chunks. Raises BaseUnavailable."""
        table = self.base.table
        rows = self._run(lambda: table.read_texts([-1 - number for number in ids]), deadline)
        return {-1 - row_id: text for row_id, text in rows.items()}

    def _run(self, request: Callable[[], Result], deadline: Deadline) -> Result:
        return self.base.requests.run(request, deadline)

    def _parse(self, row: Row) -> IndexedChunk:
        return parse_chunk(row, -1 - row[ROW_ID], self.base.manifest.max_chunk_chars)
