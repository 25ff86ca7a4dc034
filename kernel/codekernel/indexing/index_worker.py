"""The state machine that keeps one opened index store in step with the files of its repository.

Requests from any thread are merged in an inbox. One thread (``run``) scans, chunks and writes; the
embed worker's thread adds vectors. A watcher reports changes until the worker is stopped.
"""

import logging
import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.domain.index import RepositoryIndexStatus
from codekernel.errors import StorageError
from codekernel.indexing.embed_worker import EmbedWorker, OpenVectorIndex
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.index_state import (
    NO_REQUEST,
    BatchCommitted,
    FileRead,
    FilesStarted,
    FoldersChanged,
    IndexEvent,
    IndexState,
    WorkerContext,
    WorkRequest,
)
from codekernel.storage.engines import CatalogDamaged, LexicalIndexDamaged, is_opened_exclusively
from codekernel.storage.index_store import (
    CATALOG_FILE,
    LEXICAL_FOLDER,
    IndexNeedsReopen,
    IndexStore,
)

if TYPE_CHECKING:  # 0.1 s to import; opening a repository does not wait for it
    from codekernel.indexing.indexer import Indexer
    from codekernel.watching.event_source import ChangedPaths
    from codekernel.watching.watcher import FileWatcher

logger = logging.getLogger(__name__)

# The status of the watcher before the first scan, and while another process writes the index.
NOT_WATCHING = "not yet"


class IndexWorker:
    """Writes the store if this process may; otherwise it only answers questions about it."""

    _indexer: "Indexer"

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        open_vector_index: OpenVectorIndex,
        context: WorkerContext,
        on_verified: Callable[[], None] = lambda: None,
    ) -> None:
        """Start nothing before ``run``."""
        self.store = store
        self.state = IndexState.STARTING
        self.error = store.read_only_reason
        if store.writer is None:
            self.state = IndexState.FAILED if self.error else IndexState.READ_ONLY
        self.failure: BaseException | None = None
        self.verification_count = 0
        self.has_settled = False  # whether the index has agreed with the files since it was opened
        self.embed_worker = EmbedWorker(
            store,
            open_vector_index,
            context,
            lambda: self.post(WorkRequest(needs_rechunk=True)),
        )
        self._root = root
        self._control = context.control
        self._cancel, self._pause = context.control.cancel, context.control.pause
        self._progress, self._timings = context.progress, context.timings
        self._elsewhere = context.elsewhere
        self._on_verified, self._vectors_lock = on_verified, context.vectors_lock
        self._condition = threading.Condition()
        self._inbox = NO_REQUEST
        self._plan = IndexPlan()
        self._is_compacted = False
        self._is_guarded = False
        self._verified_at = time.monotonic()
        self._backoff_seconds = self._timings.min_backoff
        self._watcher: FileWatcher | None = None
        self._embed_thread = threading.Thread(
            target=self._run_embed_worker, name=f"embed:{root.name}", daemon=True
        )

    @property
    def is_idle(self) -> bool:
        """Whether every change that was noticed has been indexed and embedded."""
        with self._condition:  # for both, or one could hand work to the other in between
            is_indexed = self.state is IndexState.IDLE and not self._inbox
            return is_indexed and self.embed_worker.is_idle

    def post(self, request: WorkRequest) -> None:
        """Ask for work; any thread."""
        with self._condition:
            self._inbox = self._inbox.merge(request)
            self._condition.notify_all()

    def wake(self) -> None:
        """Have the threads look at the cancel token and the pause now."""
        with self._condition:
            self._condition.notify_all()
        self.embed_worker.wake()

    def fail(self, error: BaseException) -> None:
        """End with an error that another thread has met."""
        self.failure = self.failure or error
        self.stop()

    def stop(self) -> None:
        """Ask the threads to end."""
        self._cancel.cancel()
        self._pause.wake_waiters()
        self.wake()

    @property
    def is_stopping(self) -> bool:
        """Whether the threads were asked to end."""
        return self._cancel.is_cancelled

    def close(self) -> None:
        """Stop watching, wait for the embed thread, then close the store."""
        if self._embed_thread.ident is not None:
            self._embed_thread.join()
        self.close_store()

    def close_store(self, *, keeps_lock: bool = False) -> None:
        """Stop watching and close the store; the embed thread may still end its last step."""
        if self._watcher:
            self._watcher.close()
        self.store.close(keeps_lock=keeps_lock)

    def get_status(self, plan: IndexPlan) -> RepositoryIndexStatus:
        """Return how far everything is. Raises StorageError."""
        files, chunks, _ = self.store.catalog.count_contents()
        state, paused = self.state, self._pause.is_paused
        is_suspended = state is IndexState.IDLE or self._pause.has_waiters
        if state is IndexState.IDLE and not self.embed_worker.is_idle:
            state = IndexState.EMBEDDING
        if paused and is_suspended and self.embed_worker.is_suspended and not self.is_idle:
            state = IndexState.PAUSED
        return RepositoryIndexStatus(
            state=state.value,
            files=files,
            chunks=chunks,
            files_waiting=self._progress.pending_count,
            refused=self.store.catalog.count_skipped_by_reason(),
            configs=self.embed_worker.list_statuses(plan, chunks, files),
            watching=self._watcher.mode if self._watcher else NOT_WATCHING,
            trouble=self.error or self.embed_worker.error,
            paused=paused,
        )

    def run(self) -> None:
        """Keep the index in step with the files until stopped; raises what ended it otherwise."""
        plan = self._inbox.plan  # opened now if that costs no more than the first question
        if plan and self.store.has_snapshots:
            self.embed_worker.reconfigure(plan, opens_now=self.store.has_quick_vectors)
        self._embed_thread.start()
        if self.store.catalog.is_empty or not self._cancel.wait(self._timings.index_start_delay):
            self._start_watching()
            self._run_indexer()
            with suppress(StorageError):  # else it is done when the index is opened
                self._indexer.flush()
        if self.failure:
            raise self.failure

    def _run_embed_worker(self) -> None:
        try:
            with self._vectors_lock:
                self.embed_worker.run()
        except BaseException as error:  # noqa: BLE001 - raised by ``run``
            if not self._cancel.is_cancelled:
                self.fail(error)

    def _start_watching(self) -> None:
        """Import what is heavy, and begin to watch the files."""
        from codekernel.indexing.indexer import Indexer  # noqa: PLC0415 - heavy

        self._indexer = Indexer(
            self._root, self.store, self._control, self._elsewhere, self._timings
        )
        self._watcher = self._indexer.create_watcher(self._post_changes)
        self._watcher.start()

    def _wait_for_watch(self) -> None:
        """Wait until no change can be missed, then ask for a comparison of everything."""
        if not self.store.catalog.is_empty:
            with self._condition:
                self._condition.wait_for(
                    lambda: self._inbox.needs_scan or self._cancel.is_cancelled,
                    self._timings.max_watch_wait,
                )
        self.post(WorkRequest(needs_scan=True))

    def _post_changes(self, changes: "ChangedPaths") -> None:
        self.post(
            WorkRequest(
                changes.paths, needs_scan=changes.needs_rescan, needs_check=changes.is_guard_changed
            )
        )

    def _run_indexer(self) -> None:
        """Rebuild what a crash left, then handle requests; a full or missing disk is retried.

        While the folders begin to be watched, the store is compared with its checksums.
        """
        is_first = True
        while not self._cancel.is_cancelled:
            try:
                self.state = IndexState.REBUILDING
                # Before anything is written: a page that is written again has a new checksum.
                self._verify(always=not self.verification_count)
                self._indexer.recover()
                if is_first:
                    self._wait_for_watch()
                    is_first = False
                self._handle_requests()
            except (CatalogDamaged, LexicalIndexDamaged, IndexNeedsReopen):
                raise
            except StorageError as error:
                self._back_off(error)
            else:
                return

    def _handle_requests(self) -> None:
        while not self._cancel.is_cancelled:
            if request := self._take_request():
                self._handle(request)
            else:
                self._wait_for_request()

    def _take_request(self) -> WorkRequest:
        """Take what may be done now: all of it, or in a pause what searches need."""
        with self._condition:
            taken = replace(
                self._inbox, needs_rechunk=self._inbox.needs_rechunk or bool(self._inbox.plan)
            )
            if not self._pause.is_paused:
                self._inbox = NO_REQUEST
                if taken.needs_indexing:
                    self.state = IndexState.INDEXING
                return taken
            self._inbox = replace(taken, plan=None, needs_verification=False)
            return WorkRequest(plan=taken.plan, needs_verification=taken.needs_verification)

    def _handle(self, request: WorkRequest) -> None:
        if request.plan:
            self._plan = request.plan
            self._indexer.configure(request.plan)
            self.embed_worker.reconfigure(request.plan)
        try:
            if request.needs_verification or request.needs_check:
                self._verify(always=request.needs_verification)
            if request.needs_indexing:
                self._guard_store(enabled=False)
                self._is_compacted = False
                self._index(request)
                self.error, self._backoff_seconds = "", self._timings.min_backoff
        except StorageError:  # everything is looked at again
            self.post(replace(request, plan=None, needs_scan=True))
            raise

    def _index(self, request: WorkRequest) -> None:
        if request.needs_scan or self._has_rule_file(request.paths):
            self._process(self._indexer.scan_repository())
        elif request.paths:
            self._process(self._indexer.index_paths(request.paths))
        if request.needs_rechunk:
            self._process(self._indexer.rechunk())
            self.embed_worker.mark_all_chunked()
            if self._plan.is_certain:
                self._indexer.delete_unused_chunks(searched_sizes=self.embed_worker.chunk_sizes)

    def _process(self, events: Generator[IndexEvent]) -> None:
        """Consume the events of the indexer; a file saved meanwhile is indexed before the rest."""
        stack = [events]
        try:
            while stack:
                event = next(stack[-1], None)
                if event is None:
                    stack.pop()
                elif urgent := self._process_event(event):
                    stack.append(self._indexer.index_paths(urgent))
        finally:  # gives the chunk processes back
            for unfinished in reversed(stack):
                unfinished.close()

    def _process_event(self, event: IndexEvent) -> frozenset[str]:
        """Pass an event on; returns paths that are more urgent than the following ones."""
        match event:
            case FilesStarted(paths):
                self.embed_worker.notice_scan(has_files=self._progress.begin_files(paths))
            case FileRead(path):
                self.embed_worker.notice_scan(has_files=self._progress.mark_read(path))
            case FoldersChanged() if self._watcher:
                self._indexer.watch_walk.clear_rule_cache()
                self._watcher.refresh_watches()
            case BatchCommitted():
                self._report_batch(event)
                return self._take_urgent_paths()
        return frozenset()

    def _report_batch(self, batch: BatchCommitted) -> None:
        for path in batch.finished:
            self._progress.finish_file(path)
        for _, path in batch.files:
            self._progress.mark_chunked(path)
        if batch.files:
            self.embed_worker.enqueue_files(batch.files)

    def _take_urgent_paths(self) -> frozenset[str]:
        """Take the paths changed meanwhile, unless a changed ignore rule asks for a scan."""
        with self._condition:
            paths = self._inbox.paths
            needs_scan = self._has_rule_file(paths)
            self._inbox = replace(
                self._inbox, paths=frozenset(), needs_scan=self._inbox.needs_scan or needs_scan
            )
        return frozenset() if needs_scan else paths

    def _has_rule_file(self, paths: frozenset[str]) -> bool:
        return any(self._indexer.walk.is_rule_file(path) for path in paths)

    def _wait_for_request(self) -> None:
        """Wait until something may be done; after a while without it, maintain the store."""
        with self._condition:
            paused = self._pause.is_paused
            if not self._can_work():
                self.state = IndexState.IDLE
            if self._condition.wait_for(
                lambda: self._can_work() or self._pause.is_paused is not paused,
                None if paused else self._get_idle_timeout(),
            ):
                return
        self._maintain_store()

    def _can_work(self) -> bool:
        is_urgent = self._inbox.plan or self._inbox.needs_verification
        may_index = self._inbox and not self._pause.is_paused
        return bool(is_urgent or may_index or self._cancel.is_cancelled)

    def _get_idle_timeout(self) -> float:
        if self._indexer.has_unflushed_files:
            return self._timings.flush_delay
        if not self._is_compacted:
            return self._timings.compact_delay
        if not self._is_guarded or is_opened_exclusively(self.store.folder / CATALOG_FILE):
            return self._timings.check_interval
        return max(0.0, self._verified_at + self._timings.verify_interval - time.monotonic())

    def _maintain_store(self) -> None:
        """Use a quiet moment: flush, compact once, then verify now and then, or after changes."""
        if self._indexer.has_unflushed_files:
            self._indexer.flush()
            return
        if not self._is_compacted:
            self._is_compacted = True
            self._indexer.compact()
            self.has_settled = True
            self._guard_store(enabled=True)
        age = time.monotonic() - self._verified_at
        self._verify(always=age >= self._timings.verify_interval)
        if self.store.needs_reopen:
            raise IndexNeedsReopen(f"the disk of {self.store.folder} has room again")

    def _guard_store(self, *, enabled: bool) -> None:
        """Have changes of the store's files by others reported, while this process writes none."""
        folders = (self.store.folder, self.store.folder / LEXICAL_FOLDER) if enabled else ()
        if self._watcher and (enabled or self._is_guarded):
            self._is_guarded = self._watcher.guard_folders(folders) and enabled

    def _verify(self, *, always: bool) -> None:
        self._indexer.verify(always=always)
        if always:
            self._verified_at = time.monotonic()
            self.verification_count += 1
            self._on_verified()

    def _back_off(self, error: StorageError) -> None:
        if str(error) != self.error:
            logger.warning("indexing waits: %s", error)
        self.error, self.state = str(error), IndexState.FAILED
        with self._condition:
            if not self._cancel.is_cancelled:
                self._condition.wait(min(self._backoff_seconds, self._timings.max_backoff))
        self._backoff_seconds = min(2 * self._backoff_seconds, self._timings.max_backoff)
