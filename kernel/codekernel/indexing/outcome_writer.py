"""Write what became of files to catalog and lexical index, the two stores of one repository.

The only writer of both, of one thread. The lexical index is committed before the catalog: a crash
loses nothing, and what it left half written is marked as pending. A few files that were saved are
the other way round, because somebody waits: they are in the catalog, marked as pending, and their
words are searched in memory until ``flush``.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from codekernel.domain.concurrency import WorkControl
from codekernel.domain.index import Chunk, IndexedFile, SkippedFileRecord
from codekernel.indexing.index_state import FileOutcome, RemovedFile, TouchedFile
from codekernel.storage.catalog.writer import CatalogBatch
from codekernel.storage.engines import require_disk_space
from codekernel.storage.index_store import IndexStore
from codekernel.storage.lexical_documents import (
    LexicalDocument,
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

# A commit takes as long for few files as for many: on a disk that others use a quarter of a second,
# so that a checkout of 1,500 files spent a quarter of its time on seven.
PACE_GROWTH = 4

# Of files that are saved without pause: another process that reads the index waits so long.
MAX_UNFLUSHED_SECONDS = 5.0


class CommitPace:
    """The deadlines of batches, each ``PACE_GROWTH`` times as far away as the one before."""

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

    def begin_list(self, *, are_known: bool = False) -> None:
        """Begin the first batch of a list of files; if they ``are_known``, it may be larger.

        An earlier state of them is found meanwhile.
        """
        now = self._clock()
        if now - self._committed_at > CALM_SECONDS:
            self._seconds = self._first_seconds * (PACE_GROWTH if are_known else 1)
        self._deadline = now + self._seconds

    def begin_next(self) -> None:
        """Begin another batch, since one has been committed."""
        self._seconds = min(PACE_GROWTH * self._seconds, self._max_seconds)
        self._committed_at = self._clock()
        self._deadline = self._committed_at + self._seconds


class WrittenFile(NamedTuple):
    """What has changed of a file that was written; without an id it needs no vectors."""

    path: str
    file_id: int = 0
    removed: Sequence[int] = ()
    documents: Sequence[LexicalDocument] = ()


class OutcomeWriter:
    """Writes batches of files that were read, removed or skipped."""

    def __init__(self, store: IndexStore, control: WorkControl) -> None:
        self._store, self._writer = store, store.active_writer
        self._control = control
        # Saved files whose words are searched in memory.
        self._unflushed: set[str] = set()
        self._unflushed_since = 0.0

    def recover(self) -> None:
        """Write the lexical documents again of files that a crash left pending."""
        if pending := self._writer.list_pending():
            logger.info("indexing %d pending files lexically again", len(pending))
        for paths in split_batches(pending, FILES_PER_BATCH):
            if self._control.cancel.is_cancelled:
                return
            self.write_lexical(paths)

    @property
    def has_unflushed_files(self) -> bool:
        """Whether the words of saved files are searched in memory."""
        return bool(self._unflushed)

    def write(
        self, outcomes: Sequence[FileOutcome], *, are_saved: bool = False
    ) -> list[tuple[int, str]]:
        """Write a batch so that a crash at any moment leaves it complete, absent or marked pending.

        A few that ``are_saved`` are searched at once, and their words are committed by ``flush``.
        Returns id and path of each file that may need vectors. A pause may come in the middle:
        there is no other writer, and readers see what was before.
        """
        pending = [outcome.path for outcome in outcomes if not isinstance(outcome, TouchedFile)]
        with self._discard_on_error():
            if are_saved and len(outcomes) <= MAX_URGENT_FILES:
                written = self._write_saved(outcomes, pending)
            else:
                written = self._write_many(outcomes, pending)
        return [(each.file_id, each.path) for each in written if each.file_id]

    def flush(self) -> None:
        """Commit the words of saved files to the lexical index."""
        if self._unflushed:
            with self._discard_on_error(), self._writer.begin_batch() as batch:
                self._commit_words(batch)

    def _write_saved(
        self, outcomes: Sequence[FileOutcome], pending: Sequence[str]
    ) -> list[WrittenFile]:
        """Write files that somebody waits for: no step waits for the disk.

        What a power failure takes of it is read again, because the files differ from their rows.
        """
        written = []
        with self._writer.begin_batch(is_durable=False) as batch:
            batch.mark_pending(pending)
            for outcome in outcomes:
                self._control.wait_between_steps(is_urgent=True)
                is_gone = isinstance(outcome, RemovedFile | SkippedFileRecord)
                gone = batch.list_chunk_ids(outcome.path) if is_gone else []
                file = self._write_outcome(outcome, batch)
                written.append(file._replace(removed=[*gone, *file.removed]))
            if pending:
                require_disk_space(self._store.folder)
        if pending:
            now = time.monotonic()
            self._unflushed_since = self._unflushed_since if self._unflushed else now
            self._unflushed.update(pending)
            removed = [number for file in written for number in file.removed]
            documents = [document for file in written for document in file.documents]
            has_room = self._store.lexical.show(removed, documents)
            if not has_room or now - self._unflushed_since > MAX_UNFLUSHED_SECONDS:
                self.flush()
        return written

    def _write_many(
        self, outcomes: Sequence[FileOutcome], pending: Sequence[str]
    ) -> list[WrittenFile]:
        if pending:
            with self._writer.begin_batch() as batch:
                batch.mark_pending(pending)
        written = []
        with self._writer.begin_batch() as batch:
            for outcome in outcomes:
                self._control.wait_between_steps(is_urgent=len(outcomes) <= MAX_URGENT_FILES)
                file = self._write_outcome(outcome, batch)
                written.append(WrittenFile(file.path, file.file_id))
            if pending:
                self._commit_words(batch, pending)
        return written

    def _write_outcome(self, outcome: FileOutcome, batch: CatalogBatch) -> WrittenFile:
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
                return WrittenFile(path, file_id, changes.removed, documents)
            case TouchedFile():
                batch.touch_file(path, outcome.size, outcome.mtime_ns)
                return WrittenFile(path)
            case SkippedFileRecord():
                batch.put_skipped(outcome)
            case RemovedFile():
                batch.remove_file(path)
                batch.delete_skipped(path)
        lexical.replace(path, [])
        return WrittenFile(path)

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
        with self._discard_on_error(), self._writer.begin_batch() as batch:
            self._commit_words(batch, paths)

    def _commit_words(self, batch: CatalogBatch, paths: Iterable[str] = ()) -> None:
        """Commit the lexical index; ``paths`` and the saved files are no longer pending."""
        require_disk_space(self._store.folder)
        batch.set_lexical_opstamp(self._store.lexical.commit())
        batch.clear_pending({*paths, *self._unflushed})
        self._unflushed.clear()

    @contextmanager
    def _discard_on_error(self) -> Iterator[None]:
        """Discard what is not committed; saved files stay pending, and ``recover`` writes them."""
        try:
            yield
        except BaseException:
            self._store.lexical.rollback()
            self._unflushed.clear()
            raise


def split_batches(values: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    """Split a sequence into parts of at most ``size``."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
