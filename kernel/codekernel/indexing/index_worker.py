"""The thread that keeps one repository's index in step with its files (IndexWorker).

The watcher that tells it of changes (FileFollower). Heavy to import; opening a repository does
not wait for it.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from codekernel.domain.concurrency import WorkControl
from codekernel.errors import StorageError
from codekernel.files.walk import FileWalker
from codekernel.indexing.chunk_pool import count_chunk_processes
from codekernel.indexing.embed_worker import EmbedWorker
from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.indexer import Indexer
from codekernel.indexing.progress import ProgressTracker
from codekernel.storage.engine_errors import CatalogDamaged, LexicalIndexDamaged
from codekernel.storage.index_store import IndexNeedsReopen, IndexStore
from codekernel.watching.debounce import ChangedPaths
from codekernel.watching.watcher import FileWatcher

logger = logging.getLogger(__name__)

# A full disk, or a folder that is away, is looked at again after these, or when something changes:
# soon at first, for room is often made at once, and each time after twice as long.
MIN_BACKOFF_SECONDS = 1.0

MAX_BACKOFF_SECONDS = 10.0

# After so long without a change the store is tidied.
IDLE_COMPACT_SECONDS = 2.0

# How often an idle index is looked at, and how often all of it is read and compared with its
# checksums: what another program changes is noticed soon, and what a disk forgets the same day.
IDLE_CHECK_INTERVAL_SECONDS = 10.0

VERIFY_INTERVAL_SECONDS = 3600.0

# When watching has begun, everything is compared, for something may have changed before. An index
# that has answers already waits so long for that, and is not compared twice.
WATCH_START_TIMEOUT_SECONDS = 3.0


class IndexWorker:
    """One repository's files, followed for as long as it is open."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        embed_worker: EmbedWorker,
        progress: ProgressTracker,
        control: WorkControl,
    ) -> None:
        self._embed_worker = embed_worker
        self._progress = progress
        self._store = store
        self._cancel = control.cancel
        self._pause = control.pause
        self.indexer = Indexer(root, store, self, control)
        self._changed_paths: set[str] = set()
        self._needs_scan = True
        self._plan: IndexPlan | None = None
        self._can_delete_chunks = False
        self._has_unused_chunks = False
        self._condition = threading.Condition()
        self._is_compacted = False
        self._needs_verification = False
        self._verified_at = time.monotonic()
        self.verification_count = 0
        self.has_settled = False
        self._is_watched = False
        self.state = "starting"
        self.error = ""
        self._backoff_seconds = MIN_BACKOFF_SECONDS
        self.on_folders_changed: Callable[[], None] = lambda: None
        embed_worker.on_indexes_closed = self._mark_unused_chunks

    def enqueue_changes(self, changes: ChangedPaths) -> None:
        """Something has changed among the files; any thread."""
        with self._condition:
            self._changed_paths |= changes.paths
            self._needs_scan |= changes.needs_rescan
            self._is_watched |= changes.needs_rescan
            self._condition.notify_all()

    def reconfigure(self, plan: IndexPlan) -> None:
        """The settings have changed; any thread."""
        with self._condition:
            self._plan = plan
            self._condition.notify_all()

    def request_verification(self) -> None:
        """Have the index compared with its checksums soon; any thread."""
        with self._condition:
            self._needs_verification = True
            self._condition.notify_all()

    def wake(self) -> None:
        """Look at the cancel token and the pause now."""
        with self._condition:
            self._condition.notify_all()

    @property
    def is_idle(self) -> bool:
        """Whether every change that was noticed has been dealt with."""
        with self._condition:
            return self.state == "idle" and not self._has_requests()

    @property
    def is_standing_still(self) -> bool:
        """Whether nothing is being done at the moment."""
        return self.state == "idle" or self._pause.has_waiters

    def wait_until_watched(self) -> None:
        """Wait, but not for long, until no change can be missed any more."""
        with self._condition:
            self._condition.wait_for(
                lambda: self._is_watched or self._cancel.is_cancelled, WATCH_START_TIMEOUT_SECONDS
            )

    def run(self) -> None:
        """Follow the files until cancelled; raises CatalogueDamaged or IndexUnreadable."""
        recovered = False
        while not self._cancel.is_cancelled:
            try:
                if not recovered:
                    self.state = "recovering"
                    # Before anything is written: a page that is written anew has a new checksum.
                    self._verify(always=not self.verification_count)
                    self.indexer.recover()
                    recovered = True
                self._run_once()
            except (CatalogDamaged, LexicalIndexDamaged, IndexNeedsReopen):
                raise
            except StorageError as error:
                recovered = False
                self._back_off(error)

    def on_files_started(self, paths: Iterable[str]) -> None:
        """Told by the indexer: these files are about to be indexed."""
        self._embed_worker.notice_scan(has_files=bool(self._progress.begin_files(paths)))

    def on_files_indexed(self, files: Sequence[tuple[int, str]]) -> None:
        """Told by the indexer: words of these files can be found."""
        for _, path in files:
            self._progress.mark_chunked(path)
        if files:
            self._embed_worker.enqueue_files(files)

    def on_file_finished(self, path: str) -> None:
        """Told by the indexer: nothing is left to do for this file."""
        self._progress.finish_file(path)

    def on_batch_committed(self) -> None:
        """Told by the indexer: the file someone has just saved goes before the long list."""
        with self._condition:
            paths, self._changed_paths = self._changed_paths, set()
            plain = self._has_no_rule_files(paths)
            self._needs_scan |= not plain
        if plain and paths:
            self.indexer.index_paths(paths)

    def _run_once(self) -> None:
        """Deal with what has changed; with nothing, wait for it."""
        if self._wait_for_work():
            self._maintain_store()
            return
        if self._needs_verification:
            self._needs_verification = False
            self._verify(always=True)
            return
        with self._condition:
            if not self._has_requests():
                return  # woken by a pause, or by its end
            plan, self._plan = self._plan, None
            paths, self._changed_paths = self._changed_paths, set()
            sweep, self._needs_scan = self._needs_scan, False
            cuts_left, self._has_unused_chunks = self._has_unused_chunks, False
            self.state, self._is_compacted = "indexing", False
        if plan:
            self.indexer.chunk_sizes = plan.chunk_sizes
            self.indexer.max_chunk_processes = count_chunk_processes(plan.performance)
            self._can_delete_chunks = plan.is_certain
            self._embed_worker.reconfigure(plan)  # what is searched changes in a pause too
        self._pause.wait_if_paused(self._cancel)
        try:
            self._index_changes(paths, needs_scan=sweep)
            if plan:
                self.indexer.rechunk()
                self._embed_worker.mark_all_chunked()
            if self._can_delete_chunks and (plan or cuts_left):
                self.indexer.delete_unused_chunks(searched_sizes=self._embed_worker.chunk_sizes)
            self.error, self._backoff_seconds = "", MIN_BACKOFF_SECONDS
        except StorageError:
            with self._condition:  # everything is looked at again
                self._needs_scan = self._has_unused_chunks = True
                self._plan = self._plan or plan
            raise

    def _maintain_store(self) -> None:
        """Use a quiet moment: tidy up once, then see now and then that all is as it was."""
        if self._is_compacted:
            self._verify(always=time.monotonic() - self._verified_at > VERIFY_INTERVAL_SECONDS)
        else:
            self._is_compacted = True
            self.indexer.compact()
            self.has_settled = True
        if self._store.needs_reopen:
            raise IndexNeedsReopen(f"the disk of {self._store.folder} has room again")

    def _verify(self, *, always: bool) -> None:
        self.indexer.verify(always=always)
        self._verified_at = time.monotonic() if always else self._verified_at
        self.verification_count += always

    def _index_changes(self, paths: set[str], *, needs_scan: bool) -> None:
        if needs_scan or not self._has_no_rule_files(paths):
            self.indexer.scan_repository()
            if self.indexer.has_folder_changes:
                self.on_folders_changed()
        elif paths:
            self.indexer.index_paths(paths)

    def _wait_for_work(self) -> bool:
        """Wait for work; true if none came for a while, which is the moment to tidy up."""
        with self._condition:
            if self._has_work():
                return False
            self.state = "idle"
            paused = self._pause.is_paused
            return not self._condition.wait_for(
                lambda: self._has_work() or self._pause.is_paused is not paused,
                None
                if paused
                else IDLE_CHECK_INTERVAL_SECONDS
                if self._is_compacted
                else IDLE_COMPACT_SECONDS,
            )

    def _has_work(self) -> bool:
        """Whether there is something that may be done now."""
        may_go_on = not self._pause.is_paused and self._has_requests()
        return bool(
            may_go_on or self._plan or self._needs_verification or self._cancel.is_cancelled
        )

    def _has_requests(self) -> bool:
        return bool(
            self._changed_paths or self._needs_scan or self._plan or self._has_unused_chunks
        )

    def _mark_unused_chunks(self) -> None:
        """Told by the embedding: a config is no longer searched, and perhaps its cut not needed."""
        with self._condition:
            self._has_unused_chunks = True
            self._condition.notify_all()

    def _has_no_rule_files(self, paths: set[str]) -> bool:
        """Whether paths can be looked at one by one; a changed rule can change any verdict."""
        return not any(self.indexer.walk.is_rule_file(path) for path in paths)

    def _back_off(self, error: StorageError) -> None:
        if str(error) != self.error:
            logger.warning("indexing waits: %s", error)
        self.error = str(error)
        self.state = "trouble"
        with self._condition:
            if not self._cancel.is_cancelled:
                self._condition.wait(min(self._backoff_seconds, MAX_BACKOFF_SECONDS))
        self._backoff_seconds = min(2 * self._backoff_seconds, MAX_BACKOFF_SECONDS)


class FileFollower:
    """A watcher that notices changes and a keeper that deals with them."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        embed_worker: EmbedWorker,
        progress: ProgressTracker,
        control: WorkControl,
    ) -> None:
        self._store = store
        self.index_worker = IndexWorker(root, store, embed_worker, progress, control)
        self.index_worker.on_folders_changed = self._reload_ignore_rules
        self._watch_walk = FileWalker(root)  # the watcher asks it on a thread of its own
        self._watcher = FileWatcher(
            root,
            self.index_worker.enqueue_changes,
            on_error=lambda trouble: logger.warning("%s", trouble),
            skip_folder=self._watch_walk.is_skipped_folder,
        )

    @property
    def watch_mode(self) -> str:
        """How changes are heard of."""
        return self._watcher.mode

    def run(self) -> None:
        """Follow the files until cancelled; raises what ended it otherwise."""
        self._watcher.start()
        if not self._store.catalog.is_empty:
            self.index_worker.wait_until_watched()
        self.index_worker.run()

    def close(self) -> None:
        """Watch no more."""
        self._watcher.close()

    def _reload_ignore_rules(self) -> None:
        self._watch_walk.clear_rule_cache()
        self._watcher.refresh_watches()
