"""Scan a repository, index changed files in batches, rechunk for new chunk sizes.

Verify and compact; the only writer of catalog and lexical index, on one thread.
"""

import logging
import os
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from codekernel.domain.concurrency import WorkControl
from codekernel.domain.index import Chunk, FileRecord, IndexedFile, SkippedFileRecord
from codekernel.domain.settings import Performance
from codekernel.domain.source_files import FoundFile, SkippedPath, detect_language
from codekernel.errors import Cancelled, StorageError
from codekernel.files.reading import read_source_file
from codekernel.files.walk import FileWalker
from codekernel.indexing.chunk_pool import PoolLimits, chunk_files, count_chunk_processes
from codekernel.indexing.chunk_worker import (
    UnchunkedFile,
    choose_trusted_mtime,
    chunk_with_hashes,
    read_clock_ns,
)
from codekernel.indexing.index_writer import (
    MAX_URGENT_FILES,
    FileOutcome,
    RemovedFile,
    TouchedFile,
    build_lexical_documents,
    write_outcomes,
)
from codekernel.storage.index_store import IndexStore

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

# A batch ends when it holds so much text, which bounds the memory, or when it has taken so long:
# shortly at first, so that the first words are found at once, then seldom, because a commit costs
# the same whatever it holds.
MAX_BATCH_CHARS = 4_000_000

FIRST_BATCH_SECONDS = 0.1

# A walk that takes longer names the new files it has found so far.
ANNOUNCE_INTERVAL_SECONDS = 0.5

MAX_BATCH_SECONDS = 4.0

# Files of a walk that are compared in a millisecond or two.
FILES_PER_THROTTLE_CHECK = 64

# For work that is not read from the disk: some megabytes of text at the most.
FILES_PER_BATCH = 256

# A process that cuts is ready after a tenth of a second or two, in which as much is cut without it.
MIN_BYTES_FOR_PROCESSES = 1_000_000


class RootMissing(StorageError):
    """The repository's folder is not there now; nothing is deleted on that account."""


class IndexListener(Protocol):
    """Who is told what the indexer does."""

    def on_files_started(self, paths: Iterable[str]) -> None:
        """These files have changed and are about to be indexed."""

    def on_files_indexed(self, files: Sequence[tuple[int, str]]) -> None:
        """Words of these files can be found; their texts may need vectors."""

    def on_file_finished(self, path: str) -> None:
        """Nothing is left to do for this file: it is gone or refused."""

    def on_batch_committed(self) -> None:
        """A moment at which something more urgent may be done."""


class Indexer:
    """One repository's files on their way into the index."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        listener: IndexListener,
        control: WorkControl,
    ) -> None:
        self.walk = FileWalker(root)
        self.chunk_sizes: tuple[int, ...] = ()
        self.max_chunk_processes = count_chunk_processes(Performance())
        self.has_folder_changes = False
        self._root = root
        self._store = store
        self._writer = store.active_writer
        self._listener = listener
        self._cancel = control.cancel
        self._control = control
        self._signatures = store.read_file_signatures()

    def recover(self) -> None:
        """Write again the words of files that a crash caught between the two indexes."""
        pending = self._writer.list_pending()
        if pending:
            logger.info("indexing the words of %d files again", len(pending))
        for paths in _split_batches(pending, FILES_PER_BATCH):
            if self._cancel.is_cancelled:
                return
            self._write_lexical(paths)

    def scan_repository(self) -> None:
        """Compare every file with the catalogue and index what differs.

        ``folders_differ`` afterwards says whether other folders are left out than before.
        """
        self._check_root()
        known, refused = self._store.catalog.list_files(), self._store.catalog.list_skipped()
        outcomes: list[FileOutcome] = []
        changed: list[FoundFile] = []
        named, name_at = 0, time.monotonic() + ANNOUNCE_INTERVAL_SECONDS
        for item in self._iter_throttled(self._walk_files()):
            if isinstance(item, SkippedPath):
                before = refused.pop(item.path, None)
                if before is None or (before.reason, before.detail) != (item.reason, item.detail):
                    outcomes.append(_build_skipped(item))
            elif not _is_unchanged(item, known.pop(item.path, None), refused.pop(item.path, None)):
                changed.append(item)
                if time.monotonic() >= name_at:  # a long walk must not look like none
                    self._announce_new_files(changed[named:])
                    named, name_at = len(changed), time.monotonic() + ANNOUNCE_INTERVAL_SECONDS
        if self._cancel.is_cancelled:
            return
        self._check_root()
        # First, for a file that was indexed and is left out now is among both.
        outcomes = [*(RemovedFile(path) for path in (*known, *refused)), *outcomes]
        self.has_folder_changes = any(outcome.path.endswith("/") for outcome in outcomes)
        changed.sort(key=lambda found: -found.mtime_ns)  # what someone works on is searched first
        self._listener.on_files_started(known)
        self._commit_batch(outcomes)
        self._index_files(changed)

    def _announce_new_files(self, found: Sequence[FoundFile]) -> None:
        """Say that new files will be indexed; those that seem changed are not read yet."""
        known = self._store.catalog.find_files([each.path for each in found])
        self._listener.on_files_started(each.path for each in found if each.path not in known)

    def index_paths(self, paths: Iterable[str]) -> None:
        """Index what has changed at these paths, files or folders."""
        self._check_root()
        outcomes: list[FileOutcome] = []
        changed: list[FoundFile] = []
        for path in sorted(paths):
            self._inspect_path(path, outcomes, changed)
        self._listener.on_files_started(
            item.path for item in outcomes if isinstance(item, RemovedFile)
        )
        self._commit_batch(outcomes)
        self._index_files(changed)

    def rechunk(self) -> None:
        """Cut the files again for input lengths that are new."""
        for length in self.chunk_sizes:
            for files in _split_batches(
                self._store.catalog.list_unchunked_files(length), FILES_PER_BATCH
            ):
                if self._cancel.is_cancelled:
                    return
                self._rechunk_files(files, length)
                self._listener.on_batch_committed()

    def delete_unused_chunks(self, *, searched_sizes: Collection[int]) -> None:
        """Forget the cuts that nobody wants; ``besides`` are those that are still searched."""
        for length in self._store.catalog.list_chunk_sizes():
            if self._cancel.is_cancelled:
                return
            if length not in self.chunk_sizes and length not in searched_sizes:
                self._delete_chunk_size(length)

    def compact(self) -> None:
        """Give back the disk that commits have left behind; what is new is its owner's alone."""
        self._writer.checkpoint()
        self._store.lexical.compact()
        self._store.restrict_to_owner()
        self._signatures = self._store.read_file_signatures()

    def verify(self, *, always: bool) -> None:
        """Compare the index with its checksums; if not ``always``, only if its files have changed.

        Called while nothing is being written. Raises CatalogueDamaged or IndexUnreadable.
        """
        signatures = self._store.read_file_signatures()
        if always or signatures != self._signatures:
            with suppress(Cancelled):
                self._store.verify(self._yield_to_queries)
                self._signatures = signatures

    def _inspect_path(
        self, path: str, outcomes: list[FileOutcome], changed: list[FoundFile]
    ) -> None:
        """Sort out what stands at a path now: a file, a folder, something left out, or nothing."""
        catalogue = self._store.catalog
        below = catalogue.list_files_under(path)
        found = list(self._iter_throttled(self.walk.iterate_folder(path, self._cancel)))
        known = catalogue.find_file(path) or catalogue.find_skipped(path)
        if known and not any(each.path == path for each in found):
            outcomes.append(RemovedFile(path))
        for each in found:
            if isinstance(each, SkippedPath):
                outcomes.append(_build_skipped(each))
            elif not _is_unchanged(
                each, catalogue.find_file(each.path), catalogue.find_skipped(each.path)
            ):
                changed.append(each)
            below.pop(each.path, None)
        outcomes += [RemovedFile(gone) for gone in below]

    def _index_files(self, changed: Sequence[FoundFile]) -> None:
        """Read, cut and write files; a known one counts as changed only if its content did."""
        known = self._store.catalog.find_files([found.path for found in changed])
        self._listener.on_files_started(found.path for found in changed if found.path not in known)
        batch: list[FileOutcome] = []
        size, patience = 0, FIRST_BATCH_SECONDS
        deadline = time.monotonic() + patience
        with closing(self._chunk_files(changed)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome, IndexedFile):
                    self._listener.on_files_started([outcome.path])
                    size += len(outcome.text)
                batch.append(outcome)
                if size >= MAX_BATCH_CHARS or time.monotonic() >= deadline:
                    self._commit_batch(batch)
                    patience = min(2 * patience, MAX_BATCH_SECONDS)
                    batch, size = [], 0
                    self._listener.on_batch_committed()
                    deadline = time.monotonic() + patience
        self._commit_batch(batch)

    def _chunk_files(self, changed: Sequence[FoundFile]) -> Generator[FileOutcome]:
        """What becomes of each file, in their order; ends early when cancelled."""
        count = self.max_chunk_processes if len(changed) > MAX_URGENT_FILES else 0
        size = sum(found.size for found in changed)
        help_wanted = PoolLimits(count, can_start=size >= MIN_BYTES_FOR_PROCESSES)
        files = self._read_files(changed)
        return chunk_files(files, self.chunk_sizes, help_wanted, self._cancel)

    def _read_files(self, changed: Sequence[FoundFile]) -> Iterator[UnchunkedFile | FileOutcome]:
        for found in changed:
            self._control.wait_between_steps(is_urgent=len(changed) <= MAX_URGENT_FILES)
            if self._cancel.is_cancelled:
                return
            yield self._read_file(found)

    def _read_file(self, found: FoundFile) -> UnchunkedFile | FileOutcome:
        read_at_ns = read_clock_ns()
        source = read_source_file(self._root, found)
        if isinstance(source, SkippedPath):
            return SkippedFileRecord(
                found.path, source.reason, source.detail, found.size, found.mtime_ns
            )
        known = self._store.catalog.find_file(found.path)
        if known and known.digest == source.digest:
            return TouchedFile(
                found.path, source.size, choose_trusted_mtime(source.mtime_ns, read_at_ns)
            )
        return UnchunkedFile(found, source, read_at_ns)

    def _commit_batch(self, outcomes: Sequence[FileOutcome]) -> None:
        if not outcomes or self._cancel.is_cancelled:
            return
        files = write_outcomes(outcomes, self._store, self._control)
        for outcome in outcomes:
            if isinstance(outcome, SkippedFileRecord | RemovedFile):
                self._listener.on_file_finished(outcome.path)
        self._listener.on_files_indexed(files)

    def _write_lexical(self, paths: Sequence[str]) -> None:
        """Give the lexical index what the catalogue has of these files, which are pending."""
        catalogue = self._store.catalog
        for path in paths:
            self._control.wait_between_steps()
            known = catalogue.find_file(path)
            chunks = catalogue.list_chunks(known.id) if known else []
            text = catalogue.read_document(known.id) if known else ""
            with_ids: list[tuple[int, Chunk]] = [(chunk.id, chunk) for chunk in chunks]
            self._store.lexical.replace(path, build_lexical_documents(path, text, with_ids))
        stamp = self._store.lexical.commit()
        with self._writer.begin_batch() as batch:
            batch.set_lexical_opstamp(stamp)
            batch.clear_pending(paths)

    def _rechunk_files(self, file_ids: Sequence[int], length: int) -> None:
        """Cut some files for one more length, from the texts as read, not from the disk."""
        catalogue = self._store.catalog
        paths = {file_id: catalogue.find_path(file_id) for file_id in file_ids}
        files = [(file_id, path) for file_id, path in paths.items() if path is not None]
        self._listener.on_files_started(path for _, path in files)
        with self._writer.begin_batch() as batch:
            batch.mark_pending([path for _, path in files])
            for file_id, path in files:
                self._control.wait_between_steps()
                text = catalogue.read_document(file_id)
                batch.put_chunks(
                    file_id,
                    length,
                    chunk_with_hashes(text, detect_language(path), [length])[length],
                )
        self._write_lexical([path for _, path in files])
        self._listener.on_files_indexed(files)

    def _delete_chunk_size(self, length: int) -> None:
        with self._writer.begin_batch() as batch:
            batch.delete_chunks(length)
            batch.mark_all_pending()
        self.recover()

    def _iter_throttled(
        self, found: Iterable[FoundFile | SkippedPath]
    ) -> Iterator[FoundFile | SkippedPath]:
        for number, item in enumerate(found):
            if number % FILES_PER_THROTTLE_CHECK == 0:
                self._control.wait_between_steps()
            yield item

    def _walk_files(self) -> Iterator[FoundFile | SkippedPath]:
        try:
            yield from self.walk.iterate_files(self._cancel)
        except OSError as error:  # only the root's own: everything else is left out
            raise self._build_root_missing() from error

    def _yield_to_queries(self) -> None:
        if self._cancel.is_cancelled:
            raise Cancelled("the index is being closed")
        self._control.throttle.yield_to_queries()

    def _check_root(self) -> None:
        """Refuse to go on without the folder, or with the empty one an unmounted disk leaves."""
        try:
            with os.scandir(self._root) as entries:
                empty = next(entries, None) is None
        except OSError as error:
            raise self._build_root_missing() from error
        if empty and self._store.catalog.count_contents()[0]:
            raise self._build_root_missing()

    def _build_root_missing(self) -> RootMissing:
        return RootMissing(
            f"the folder {self._root} is gone or empty; its index is kept, and brought up to date "
            "when the folder is back"
        )


def _is_unchanged(
    found: FoundFile, known: FileRecord | None, refused: SkippedFileRecord | None
) -> bool:
    """Whether a file is as it was when it was last looked at."""
    before = known or refused
    return before is not None and (before.size, before.mtime_ns) == (found.size, found.mtime_ns)


def _build_skipped(left_out: SkippedPath) -> SkippedFileRecord:
    return SkippedFileRecord(left_out.path, left_out.reason, left_out.detail, 0, 0)


def _split_batches(values: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
