"""Write what became of files to catalog and lexical index, the two stores of one repository.

The only writer of both, of one thread. The lexical index is committed before the catalog: a crash
loses nothing, and what it left half written is marked as pending.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from codekernel.domain.concurrency import WorkControl
from codekernel.domain.index import Chunk, IndexedFile, SkippedFileRecord
from codekernel.indexing.index_state import FileOutcome, RemovedFile, TouchedFile
from codekernel.storage.catalog.writer import CatalogBatch
from codekernel.storage.engines import require_disk_space
from codekernel.storage.index_store import IndexStore
from codekernel.storage.lexical_documents import (
    build_lexical_document,
    build_lexical_documents,
)

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

# For files that are not read from the disk: some megabytes of text at most.
FILES_PER_BATCH = 256

# A batch this small has just been saved, and is waited for like a search.
MAX_URGENT_FILES = 8

# A checkout of many files is noticed in parts, and each of them is a list of its own: only after so
# long without a commit the first files are waited for again.
CALM_SECONDS = 2.0


class CommitPace:
    """The deadlines of batches, each twice as far away as the one before."""

    def __init__(
        self,
        first_seconds: float,
        max_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first_seconds = self._seconds = first_seconds
        self._max_seconds = max_seconds
        self._clock = clock
        self._committed_at = self._deadline = clock()

    @property
    def is_due(self) -> bool:
        """Return whether the batch is to be committed now."""
        return self._clock() >= self._deadline

    def begin_list(self) -> None:
        """Begin the first batch of a list of files."""
        now = self._clock()
        if now - self._committed_at > CALM_SECONDS:
            self._seconds = self._first_seconds
        self._deadline = now + self._seconds

    def begin_next(self) -> None:
        """Begin another batch, since one has been committed."""
        self._seconds = min(2 * self._seconds, self._max_seconds)
        self._committed_at = self._clock()
        self._deadline = self._committed_at + self._seconds


class OutcomeWriter:
    """Writes batches of files that were read, removed or skipped."""

    def __init__(self, store: IndexStore, control: WorkControl) -> None:
        self._store, self._writer = store, store.active_writer
        self._control = control

    def recover(self) -> None:
        """Write the lexical documents again of files that a crash left pending."""
        if pending := self._writer.list_pending():
            logger.info("indexing %d pending files lexically again", len(pending))
        for paths in split_batches(pending, FILES_PER_BATCH):
            if self._control.cancel.is_cancelled:
                return
            self.write_lexical(paths)

    def write(self, outcomes: Sequence[FileOutcome]) -> list[tuple[int, str]]:
        """Write a batch so that a crash at any moment leaves it complete, absent or marked pending.

        Returns id and path of each file that may need vectors. A pause may come in the middle:
        there is no other writer, and readers see what was before.
        """
        is_urgent, lexical = len(outcomes) <= MAX_URGENT_FILES, self._store.lexical
        pending = [outcome.path for outcome in outcomes if not isinstance(outcome, TouchedFile)]
        if pending:
            with self._writer.begin_batch() as batch:
                batch.mark_pending(pending)
        try:
            with self._writer.begin_batch() as batch:
                files = []
                for outcome in outcomes:
                    self._control.wait_between_steps(is_urgent=is_urgent)
                    if found := self._write_outcome(outcome, batch):
                        files.append(found)
                if pending:
                    require_disk_space(self._store.folder)
                    batch.set_lexical_opstamp(lexical.commit())
                    batch.clear_pending(pending)
        except BaseException:
            lexical.rollback()
            raise
        return files

    def _write_outcome(self, outcome: FileOutcome, batch: CatalogBatch) -> tuple[int, str] | None:
        path, lexical = outcome.path, self._store.lexical
        match outcome:
            case IndexedFile():
                file_id, changes = batch.put_file(outcome)
                stems, text = outcome.stems_by_key, outcome.text
                documents = [
                    build_lexical_document(path, text, chunk_id, chunk, stems.get(key))
                    for chunk_id, chunk, key in changes.written
                ]
                lexical.update(path, changes.removed, documents)
                return file_id, path
            case TouchedFile():
                batch.touch_file(path, outcome.size, outcome.mtime_ns)
                return None
            case SkippedFileRecord():
                batch.put_skipped(outcome)
            case RemovedFile():
                batch.remove_file(path)
                batch.delete_skipped(path)
        lexical.replace(path, [])
        return None

    def write_lexical(self, paths: Sequence[str]) -> None:
        """Write to the lexical index what the catalog has of these files, which are pending."""
        catalog = self._store.catalog
        for path in paths:
            self._control.wait_between_steps()
            known = catalog.find_file(path)
            chunks = catalog.list_chunks(known.id) if known else []
            text = catalog.read_document(known.id) if known else ""
            with_ids: list[tuple[int, Chunk]] = [(chunk.id, chunk) for chunk in chunks]
            self._store.lexical.replace(path, build_lexical_documents(path, text, with_ids))
        opstamp = self._store.lexical.commit()
        with self._writer.begin_batch() as batch:
            batch.set_lexical_opstamp(opstamp)
            batch.clear_pending(paths)


def split_batches(values: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    """Split a sequence into parts of at most ``size``."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
