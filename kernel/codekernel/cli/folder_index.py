"""The index of one folder for one command.

Bring it up to date on two threads, show a progress bar, wait as long as it pays, close it. It
does not watch files; a folder that stays open uses ``indexing/``.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from codekernel.cli.output.terminal import can_redraw, write_styled
from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, WorkControl
from codekernel.domain.index import EmbeddingConfigStatus
from codekernel.domain.settings import Performance
from codekernel.errors import StorageError
from codekernel.indexing.embed_worker import EmbedWorker
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan, VectorIndex
from codekernel.indexing.indexer import Indexer
from codekernel.indexing.progress import DONE, ProgressTracker
from codekernel.storage.index_store import IndexNotReady, IndexStore, open_index

# Work that is done sooner needs no bar; one that flashes by only disturbs.
PROGRESS_DELAY_SECONDS = 0.3

# Before that an estimate would jump.
ESTIMATE_DELAY_SECONDS = 1.0

BAR_COLUMNS = 20

_CLEAR_LINE = "\r\x1b[K"

_MINUTE, _HOUR = 60, 3600


@dataclass(frozen=True, slots=True)
class IndexingProgress:
    """How far indexing is: files of how many, chunks so far, and the share of all the work."""

    files: int
    total_files: int
    chunks: int
    share: float


class ProgressBar:
    """Draws only where a line can be redrawn; what it shows never goes back."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._is_enabled = can_redraw(stream, os.environ)
        self._clock = clock
        self._started_at = clock()
        self._share = 0.0
        self._files = 0
        self._drawn = ""

    def show(self, progress: IndexingProgress) -> None:
        """Draw, if there is something to tell and it has changed."""
        elapsed = self._clock() - self._started_at
        if not self._is_enabled or elapsed < PROGRESS_DELAY_SECONDS or not progress.total_files:
            return
        self._share = max(self._share, min(progress.share, 1.0))
        self._files = max(self._files, progress.files)
        line = format_progress_bar(self._share, self._files, progress, elapsed)
        if line != self._drawn:
            self._drawn = line  # first, for Ctrl-C may come while it is written
            self._write(_CLEAR_LINE + line)

    def clear(self) -> None:
        """Take the bar away."""
        if self._drawn:
            self._write(_CLEAR_LINE)
            self._drawn = ""

    def _write(self, text: str) -> None:
        write_styled(self._stream, text)
        self._stream.flush()


def format_progress_bar(
    share: float, files: int, progress: IndexingProgress, elapsed: float
) -> str:
    """What the bar says; short enough for 80 columns."""
    full = round(share * BAR_COLUMNS)
    left = ""
    if elapsed >= ESTIMATE_DELAY_SECONDS and 0 < share < 1:
        left = f", {format_duration(elapsed * (1 - share) / share)} left"
    return (
        f"indexing [{'#' * full}{'-' * (BAR_COLUMNS - full)}] {share:4.0%}"
        f" {files}/{max(files, progress.total_files)} files, {progress.chunks} chunks{left}"
    )


def format_duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < _MINUTE:
        return f"{max(1, round(seconds))} s"
    if seconds < _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    return f"{seconds / _HOUR:.1f} h"


if TYPE_CHECKING:  # costs a third of a second, and a search by words does not need it
    from codekernel.inference.model_pool import ModelPool

# A config whose vectors are nearly complete is asked; one that lacks more of them would favour
# the files that have theirs.
MIN_COMPLETE_SHARE = 0.9

# What is under way when the search is over is given up at its next step; a group of texts takes
# less than this. Nothing is lost if it does not: what is on disk is whole at every moment.
STOP_TIMEOUT_SECONDS = 0.5

# Another process that has just begun an index has something to read after some milliseconds, or
# after seconds beside a busy machine.
READABLE_TIMEOUT_SECONDS = 10.0

_OPEN_RETRY_INTERVAL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class FolderIndexView:
    """What a searcher asks."""

    store: IndexStore
    vector_indexes: tuple[VectorIndex, ...]


class FolderIndex:
    """Opened, brought up to date as far as the search can wait, searched and closed."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        plan: IndexPlan,
        get_model_pool: "Callable[[], ModelPool] | None",
        *,
        damage: StorageError | None = None,
    ) -> None:
        """Open what there is; raises StorageError. Without a shelf, words alone are indexed."""
        self._plan = plan
        self._get_model_pool = get_model_pool
        self._cancel = CancelToken()
        self.throttle = BackgroundThrottle()
        self._lock = threading.Lock()
        self._started_files = self._read_files = self._done_files = self._chunks = 0
        self._progress = ProgressTracker(self._on_file_progress)
        self.store = _open_store(folder, damage)
        self.is_read_only = self.store.writer is None
        pace = WorkControl(self._cancel, self.throttle)
        self.embedding = EmbedWorker(self.store, self._open_vector_index, self._progress, pace)
        self._indexer = None if self.is_read_only else Indexer(root, self.store, self, pace)
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="search")
        self._futures: list[Future[None]] = []

    def start(self) -> None:
        """Begin to compare the index with the files."""
        if self._indexer is None:
            return
        if self._get_model_pool:  # before the words, which may be done at once and then say so
            self.embedding.reconfigure(self._plan)
            self.embedding.notice_scan(
                has_files=False
            )  # who searches here waits for both: models open now
        self._futures.append(self._pool.submit(self._index_lexical, self._indexer))
        if self._get_model_pool:
            self._futures.append(self._pool.submit(self.embedding.run))

    def wait_for_lexical(self, timeout_seconds: float) -> bool:
        """Whether every word is indexed, after some time at the most; raises what went wrong."""
        done, _ = wait(self._futures[:1], timeout_seconds)
        for work in done:
            work.result()
        return len(done) == len(self._futures[:1])

    @property
    def is_embedding_done(self) -> bool:
        """Whether nothing is left to wait for; raises what went wrong."""
        for work in self._futures[1:]:
            if work.done():
                work.result()
        return self.is_read_only or self._get_model_pool is None or self.embedding.is_idle

    @property
    def indexing_progress(self) -> IndexingProgress:
        """How far everything is."""
        with self._lock:
            share = (
                (self._read_files + self._done_files) / 2 / self._started_files
                if self._started_files
                else 0.0
            )
            return IndexingProgress(self._read_files, self._started_files, self._chunks, share)

    def list_statuses(self) -> tuple[EmbeddingConfigStatus, ...]:
        """How far each selected config is."""
        if self.is_read_only or self._get_model_pool is None:
            return ()
        files, chunks, _ = self.store.catalog.count_contents()
        return self.embedding.list_statuses(self._plan, chunks, files)

    def get_searchable(self) -> FolderIndexView:
        """The words, and the vectors of each config that has enough of them."""
        files, chunks, _ = self.store.catalog.count_contents()
        most_waiting = (1 - MIN_COMPLETE_SHARE) * chunks
        complete = (
            arm
            for arm in self.embedding.vector_indexes
            if arm.get_status(chunks, files).waiting <= most_waiting
        )
        return FolderIndexView(self.store, tuple(complete))

    def close(self) -> None:
        """Stop at the next step; the store is closed once nobody uses it."""
        self._cancel.cancel()
        self.embedding.wake()
        _, still_running = wait(self._futures, STOP_TIMEOUT_SECONDS)
        if not still_running:
            self.store.close()

    # Told by the indexer.

    def on_files_started(self, paths: Iterable[str]) -> None:
        """Files are about to be indexed; those told again have just been read."""
        if not self._progress.begin_files(paths):
            with self._lock:
                self._read_files = min(self._read_files + 1, self._started_files)

    def on_files_indexed(self, files: Sequence[tuple[int, str]]) -> None:
        """Words of these files can be found."""
        chunks = self.store.catalog.count_contents()[1]
        with self._lock:
            self._chunks = chunks
        for _, path in files:
            self._progress.mark_chunked(path)
        if self._get_model_pool:
            self.embedding.enqueue_files(files)
        else:
            for _, path in files:
                self._progress.finish_file(path)

    def on_file_finished(self, path: str) -> None:
        """Nothing is left to do for this file."""
        self._progress.finish_file(path)

    def on_batch_committed(self) -> None:
        """Nothing is more urgent."""

    def _on_file_progress(self, _path: str, status: str, progress: float) -> None:
        with self._lock:
            if status == DONE:
                self._done_files += 1
                self._read_files = max(self._read_files, self._done_files)
            elif progress == 0:
                self._started_files += 1

    def _index_lexical(self, indexer: Indexer) -> None:
        indexer.chunk_sizes = self._plan.chunk_sizes
        indexer.verify(always=True)
        indexer.recover()
        indexer.scan_repository()
        indexer.rechunk()
        if self._plan.is_certain:
            indexer.delete_unused_chunks(searched_sizes=())
        self.embedding.mark_all_chunked()

    def _open_vector_index(self, config: ConfigPlan, performance: Performance) -> VectorIndex:
        from codekernel.indexing.model_vector_index import ModelVectorIndex  # noqa: PLC0415 - heavy

        if self._get_model_pool is None:
            raise AssertionError("vectors are asked for without a shelf")
        return ModelVectorIndex(
            config, performance, self._get_model_pool(), self.store, self.throttle
        )


def _open_store(folder: Path, damage: StorageError | None) -> IndexStore:
    """The index to write, or to read once the process that makes it has made something of it."""
    deadline = time.monotonic() + READABLE_TIMEOUT_SECONDS
    while True:
        try:
            return open_index(folder, damage=damage)
        except IndexNotReady:
            if time.monotonic() > deadline:
                raise
            time.sleep(_OPEN_RETRY_INTERVAL_SECONDS)


# How often the bar is redrawn; also how soon Ctrl-C is noticed where waiting cannot be interrupted.
POLL_INTERVAL_SECONDS = 0.05

# Vectors make a better answer (NDCG@10 .890, by words alone .882), which is worth this much.
VECTORS_TIMEOUT_SECONDS = 3.0

# Loading LanceDB takes 2 s of CPU and a model half a second, more beside a busy machine. It ends
# for certain, so it is waited for: otherwise the same search would answer differently by luck.
OPENING_TIMEOUT_SECONDS = 20.0


def wait_for_lexical(index: FolderIndex, bar: ProgressBar) -> None:
    """Until every word can be found; raises what keeps them from being indexed."""
    while not index.wait_for_lexical(POLL_INTERVAL_SECONDS):
        bar.show(index.indexing_progress)


def wait_for_vectors(
    index: FolderIndex,
    bar: ProgressBar,
    *,
    until_complete: bool,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Until the vectors are complete, or would take too long; ``patient`` waits to the end."""
    began = clock()
    opened: float | None = None
    while not index.is_embedding_done:
        statuses = index.list_statuses()
        if index.embedding.error:
            return
        if opened is None and all(status.ready or status.trouble for status in statuses):
            opened = clock()
        if not until_complete and _is_too_long(
            statuses, clock() - began, opened and clock() - opened
        ):
            return
        bar.show(index.indexing_progress)
        time.sleep(POLL_INTERVAL_SECONDS)


def describe_missing(index: FolderIndex) -> list[str]:
    """Sentences on what of the meaning this search could not use."""
    if index.is_read_only:
        return ["another codekernel keeps this index, so it is searched by words and as it is"]
    said = [index.embedding.error] if index.embedding.error else []
    statuses = index.list_statuses()
    said += [
        f"embedding config {status.name} is not used: {status.trouble}"
        for status in statuses
        if status.trouble
    ]
    late = [
        status for status in statuses if (status.waiting or not status.ready) and not status.trouble
    ]
    if late and not said and not index.is_embedding_done:
        known = [status.seconds_left for status in late if status.seconds_left]
        left = f", {format_duration(sum(known))} left" if len(known) == len(late) else ""
        names = " and ".join(status.name for status in late)
        said.append(
            f"meaning is still being indexed ({names}{left}); each search goes on with it for a"
            " moment, and --wait waits for all of it"
        )
    return said


def _is_too_long(
    statuses: tuple[EmbeddingConfigStatus, ...], waited: float, since_opened: float | None
) -> bool:
    if since_opened is None:
        return waited > OPENING_TIMEOUT_SECONDS
    left = VECTORS_TIMEOUT_SECONDS - since_opened
    known = sum(status.seconds_left or 0.0 for status in statuses)
    return left <= 0 or known > left
