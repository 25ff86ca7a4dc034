"""Scan a repository, index changed files in batches, rechunk for new chunk sizes.

Also verifies and compacts the store. Work is a generator of events, so that its caller may do
something more urgent in between. What is found is written by outcome_writer.py.
"""

import logging
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from codekernel.chunking.chunker import chunk_with_hashes
from codekernel.domain.concurrency import WorkControl
from codekernel.domain.index import (
    FileRecord,
    FoundFile,
    IndexedFile,
    SkippedFileRecord,
    SkippedPath,
    SkipReason,
    detect_language,
)
from codekernel.errors import Cancelled, StorageError
from codekernel.files.walk import FileWalker
from codekernel.indexing import files_elsewhere
from codekernel.indexing.chunk_pool import (
    PoolLimits,
    chunk_files,
    count_chunk_processes,
    read_changed_file,
)
from codekernel.indexing.index_plan import DEFAULT_TIMINGS, IndexPlan, IndexTimings
from codekernel.indexing.index_state import (
    BatchCommitted,
    FileOutcome,
    FileRead,
    FilesStarted,
    FoldersChanged,
    IndexEvent,
    RemovedFile,
)
from codekernel.indexing.outcome_writer import (
    FILES_PER_BATCH,
    MAX_URGENT_FILES,
    CommitPace,
    OutcomeWriter,
    split_batches,
)
from codekernel.storage.catalog.writer import ChunkChanges
from codekernel.storage.index_store import IndexStore
from codekernel.watching.event_source import ChangedPaths
from codekernel.watching.watcher import FileWatcher, SystemSource

logger = logging.getLogger(__name__)

# A batch ends when it holds this much text, which bounds the memory, or after some time.
MAX_BATCH_CHARS = 4_000_000

# Files of a walk that are compared in a millisecond or two.
FILES_PER_THROTTLE_CHECK = 64

# A chunk process is ready after 0.1 to 0.2 s, in which as much is chunked without it.
MIN_BYTES_FOR_PROCESSES = 1_000_000

# Takes 0.35 ms of CPU per megabyte; a larger index is verified once an hour.
MAX_BYTES_VERIFIED_AFTER_WRITE = 64_000_000


class ChangedFile(NamedTuple):
    """A file to read, and how it was when it was indexed last."""

    found: FoundFile
    known: FileRecord | None


class RootMissing(StorageError):
    """The repository's folder is missing now; nothing is deleted for that reason."""

    def __init__(self, root: Path) -> None:
        super().__init__(
            f"the folder {root} is gone or empty; its index is kept, and brought up to date "
            "when the folder is back"
        )


class Indexer:
    """Writes one repository's files to its index."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        control: WorkControl,
        elsewhere: files_elsewhere.FilesElsewhere = files_elsewhere.NOTHING_ELSEWHERE,
        timings: IndexTimings = DEFAULT_TIMINGS,
    ) -> None:
        self.walk = FileWalker(root)
        self.watch_walk = FileWalker(root)  # the watcher uses it on a thread of its own
        self.configure(IndexPlan())
        self._root = root
        self._store = store
        self._writer = store.active_writer
        self._cancel = control.cancel
        self._control = control
        self._elsewhere = elsewhere
        self._announce_interval = timings.announce_interval
        self._pace = CommitPace(timings.first_batch, timings.max_batch)
        self._outcomes = OutcomeWriter(store, control)
        self._signatures = store.read_file_signatures()
        # For each list of files under way, innermost last, what was indexed meanwhile.
        self._overtaken: list[set[str]] = []

    def create_watcher(self, notify: Callable[[ChangedPaths], None]) -> FileWatcher:
        """Return a watcher of the files that are indexed; its skipped folders are its own."""
        return FileWatcher(
            self._root,
            notify,
            on_error=lambda message: logger.warning("%s", message),
            open_source=partial(SystemSource, skip_folder=self.watch_walk.is_skipped_folder),
        )

    def configure(self, plan: IndexPlan) -> None:
        """Use the chunk sizes and the processes of other settings."""
        self.chunk_sizes = plan.chunk_sizes
        self._max_chunk_processes = count_chunk_processes(plan.performance)

    def recover(self) -> None:
        """Write the lexical documents again of files that a crash left pending."""
        self._outcomes.recover()

    @property
    def has_unflushed_files(self) -> bool:
        """Whether the words of saved files are searched in memory."""
        return self._outcomes.has_unflushed_files

    def flush(self) -> None:
        """Commit to disk what was saved and is searched in memory. Raises StorageError."""
        self._outcomes.flush()

    def scan_repository(self) -> Generator[IndexEvent]:
        """Compare every file with the catalog and index what differs. Raises StorageError."""
        self._check_root()
        self._elsewhere.open()
        known, skipped = self._store.catalog.list_files(), self._store.catalog.list_skipped()
        outcomes: list[FileOutcome] = []
        changed: list[ChangedFile] = []
        announced, announce_at = 0, time.monotonic() + self._announce_interval
        for item in self._iter_throttled(self.walk.iterate_files(self._cancel)):
            if isinstance(item, SkippedPath):
                before = skipped.pop(item.path, None)
                if before is None or (before.reason, before.detail) != (item.reason, item.detail):
                    outcomes.append(_build_skipped(item))
                continue
            file = known.pop(item.path, None)
            if self._is_changed(item, file or skipped.pop(item.path, None)):
                changed.append(ChangedFile(item, file))
                if time.monotonic() >= announce_at:  # a long walk must not look like none
                    yield _announce_new_files(changed[announced:])
                    announced = len(changed)
                    announce_at = time.monotonic() + self._announce_interval
        if self._cancel.is_cancelled:
            return
        self._check_root()
        # First, because a file that was indexed and is skipped now is among both.
        outcomes = [*(RemovedFile(path) for path in (*known, *skipped)), *outcomes]
        if any(outcome.path.endswith("/") for outcome in outcomes):
            yield FoldersChanged()
        changed.sort(key=lambda one: -one.found.mtime_ns)  # what is being worked on is found first
        yield FilesStarted(tuple(known))
        yield from self._index_files(changed, outcomes)

    def index_paths(self, paths: Iterable[str]) -> Generator[IndexEvent]:
        """Index what has changed at these paths, files or folders. Raises StorageError."""
        self._check_root()
        outcomes: list[FileOutcome] = []
        changed: list[ChangedFile] = []
        for path in sorted(paths):
            self._inspect_path(path, outcomes, changed)
        removed = [outcome.path for outcome in outcomes if isinstance(outcome, RemovedFile)]
        yield FilesStarted(tuple(self._store.catalog.find_files(removed)))  # not the skipped ones
        yield from self._index_files(changed, outcomes, are_saved=True)

    def rechunk(self) -> Generator[IndexEvent]:
        """Chunk the files for chunk sizes that are new."""
        for size in self.chunk_sizes:
            unchunked = self._store.catalog.list_unchunked_files(size)
            for files in split_batches(unchunked, FILES_PER_BATCH):
                if self._cancel.is_cancelled:
                    return
                yield from self._rechunk_files(files, size)

    def delete_unused_chunks(self, *, searched_sizes: Collection[int]) -> None:
        """Delete the chunks of sizes that are neither configured nor still searched."""
        for size in self._store.catalog.list_chunk_sizes():
            if self._cancel.is_cancelled:
                return
            if size not in self.chunk_sizes and size not in searched_sizes:
                with self._writer.begin_batch() as batch:
                    batch.delete_chunks(size)
                    batch.mark_all_pending()
                self._outcomes.recover()

    def compact(self) -> None:
        """Free the disk space that commits left behind; restrict new files to their owner."""
        self.flush()
        self._writer.checkpoint()
        self._store.lexical.compact()
        self._store.restrict_to_owner()
        self._signatures = self._store.read_file_signatures()
        # What was damaged while files were being written would pass for written from now on.
        if sum(size for _, size, _ in self._signatures.values()) <= MAX_BYTES_VERIFIED_AFTER_WRITE:
            with suppress(Cancelled):
                self._store.verify(self._yield_to_queries)

    def verify(self, *, always: bool) -> None:
        """Compare the index with its checksums; if not ``always``, only if its files have changed.

        Called while nothing is being written. Raises CatalogDamaged or LexicalIndexDamaged.
        """
        signatures = self._store.read_file_signatures()
        if always or signatures != self._signatures:
            with suppress(Cancelled):
                self._store.verify(self._yield_to_queries)
                self._signatures = signatures

    def _inspect_path(
        self, path: str, outcomes: list[FileOutcome], changed: list[ChangedFile]
    ) -> None:
        """Find out what is at a path now: a file, a folder, something skipped, or nothing."""
        catalog = self._store.catalog
        below = catalog.list_files_under(path)
        found = list(self._iter_throttled(self.walk.iterate_folder(path, self._cancel)))
        known = catalog.find_file(path) or catalog.find_skipped(path)
        # What is under way may have been read before it went.
        if (known or self._overtaken) and not any(each.path == path for each in found):
            outcomes.append(RemovedFile(path))
        for it in found:
            if isinstance(it, SkippedPath):
                outcomes.append(_build_skipped(it))
            else:
                file = catalog.find_file(it.path)
                if self._is_changed(it, file or catalog.find_skipped(it.path)):
                    changed.append(ChangedFile(it, file))
            below.pop(it.path, None)
        outcomes += [RemovedFile(gone) for gone in below]

    def _index_files(
        self,
        changed: Sequence[ChangedFile],
        others: Sequence[FileOutcome],
        *,
        are_saved: bool = False,
    ) -> Generator[IndexEvent]:
        """Write the ``others``, then read, chunk and write files whose size or date has changed.

        What is indexed between two events, by another call, is newer than what was read here.
        """
        for each in self._overtaken:
            each.update(one.found.path for one in changed)
            each.update(other.path for other in others)
        overtaken: set[str] = set()
        self._overtaken.append(overtaken)
        try:
            yield from self._commit_batch(others, are_saved=are_saved)
            # Whether a known file has changed is not known before it is read.
            yield _announce_new_files(changed)
            yield from self._chunk_and_write(changed, overtaken, are_saved=are_saved)
        finally:
            self._overtaken.remove(overtaken)

    def _chunk_and_write(
        self, changed: Sequence[ChangedFile], overtaken: Collection[str], *, are_saved: bool
    ) -> Generator[IndexEvent]:
        batch: list[FileOutcome] = []
        chars = 0
        known = {found.path: file.id for found, file in changed if file}
        self._pace.begin_list(are_known=len(known) > MAX_URGENT_FILES)
        count = self._max_chunk_processes if len(changed) > MAX_URGENT_FILES else 0
        can_start = sum(found.size for found, _ in changed) >= MIN_BYTES_FOR_PROCESSES
        limits = PoolLimits(count, can_start)

        def list_known_hashes(path: str) -> frozenset[int]:
            file_id = known.get(path)
            return frozenset(self._store.catalog.list_keys(file_id) if file_id else ())

        files = self._read_files(changed)
        chunked = chunk_files(files, self.chunk_sizes, limits, self._cancel, list_known_hashes)
        with closing(chunked) as outcomes:
            for outcome in outcomes:
                if outcome.path in overtaken:
                    continue
                if isinstance(outcome, IndexedFile):
                    yield FileRead(outcome.path)
                    chars += len(outcome.text)
                batch.append(outcome)
                if chars >= MAX_BATCH_CHARS or self._pace.is_due:
                    yield from self._commit_batch(batch, are_saved=are_saved)
                    self._pace.begin_next()
                    batch, chars = [], 0
        yield from self._commit_batch(batch, are_saved=are_saved)

    def _read_files(self, changed: Sequence[ChangedFile]) -> Iterator[FileOutcome]:
        for found, known in changed:
            self._control.wait_between_steps(is_urgent=len(changed) <= MAX_URGENT_FILES)
            if self._cancel.is_cancelled:
                return
            outcome = read_changed_file(self._root, found, known)
            is_open = self._elsewhere.is_open
            yield files_elsewhere.set_aside(outcome, self._elsewhere) if is_open else outcome

    def _is_changed(self, found: FoundFile, before: FileRecord | SkippedFileRecord | None) -> bool:
        """Return whether a file has another size or date than known, or is not elsewhere now."""
        if before is None or (before.size, before.mtime_ns) != (found.size, found.mtime_ns):
            return True
        if not isinstance(before, SkippedFileRecord) or before.reason != SkipReason.IN_BASE:
            return False
        digest = self._elsewhere.find_digest(found.path)
        return not self._elsewhere.is_away and before.detail != (digest.hex() if digest else "")

    def _commit_batch(
        self, outcomes: Sequence[FileOutcome], *, are_saved: bool
    ) -> Generator[BatchCommitted]:
        if outcomes and not self._cancel.is_cancelled:
            files = self._outcomes.write(outcomes, are_saved=are_saved)
            ended = [one for one in outcomes if isinstance(one, SkippedFileRecord | RemovedFile)]
            yield BatchCommitted(tuple(files), tuple(outcome.path for outcome in ended))

    def _rechunk_files(self, file_ids: Sequence[int], size: int) -> Generator[IndexEvent]:
        """Chunk some files for one more size, from their indexed texts, not from the disk."""
        catalog = self._store.catalog
        paths = {file_id: catalog.find_path(file_id) for file_id in file_ids}
        files = tuple((file_id, path) for file_id, path in paths.items() if path is not None)
        yield FilesStarted(tuple(path for _, path in files))
        with self._writer.begin_batch() as batch:
            batch.mark_pending([path for _, path in files])
            for file_id, path in files:
                self._control.wait_between_steps()
                text = catalog.read_document(file_id)
                chunks = chunk_with_hashes(text, detect_language(path), [size])[size]
                batch.put_chunks(file_id, size, chunks, ChunkChanges())
        self._outcomes.write_lexical([path for _, path in files])
        yield BatchCommitted(files)

    def _iter_throttled(
        self, found: Iterable[FoundFile | SkippedPath]
    ) -> Iterator[FoundFile | SkippedPath]:
        try:
            for number, item in enumerate(found):
                if number % FILES_PER_THROTTLE_CHECK == 0:
                    self._control.wait_between_steps()
                yield item
        except OSError as error:  # only the root's own: other unreadable folders are skipped
            raise RootMissing(self._root) from error

    def _yield_to_queries(self) -> None:
        if self._cancel.is_cancelled:
            raise Cancelled("the index is being closed")
        self._control.throttle.yield_to_queries()

    def _check_root(self) -> None:
        """Raise RootMissing without the folder, or with the empty one an unmounted disk leaves."""
        try:
            is_empty = not any(self._root.iterdir())
        except OSError as error:
            raise RootMissing(self._root) from error
        if is_empty and self._store.catalog.count_contents()[0]:
            raise RootMissing(self._root)


def _build_skipped(path: SkippedPath) -> SkippedFileRecord:
    return SkippedFileRecord(path.path, path.reason, path.detail, 0, 0)


def _announce_new_files(changed: Sequence[ChangedFile]) -> FilesStarted:
    """Name the files that the catalog does not know."""
    return FilesStarted(tuple(found.path for found, known in changed if known is None))
