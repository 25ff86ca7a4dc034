"""The index of one folder for one command.

Bring it up to date, show a progress bar, wait as long as it is worth it, close it.
"""

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.cli.output.progress_bar import IndexingProgress, ProgressBar, format_duration
from codekernel.cli.output.terminal import print_notice
from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, WorkControl
from codekernel.domain.index import EmbeddingConfigStatus
from codekernel.domain.settings import Performance
from codekernel.errors import StorageError
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.index_state import ProgressTracker, WorkerContext, WorkRequest
from codekernel.indexing.index_worker import IndexWorker
from codekernel.runtime.index_folders import mark_used
from codekernel.storage.engines import CatalogDamaged, LexicalIndexDamaged
from codekernel.storage.index_store import IndexNotReady, IndexStore, open_index

if TYPE_CHECKING:  # 0.3 s to import, and a lexical search does not need it
    from codekernel.indexing.vector_index import VectorIndex
    from codekernel.inference.model_pool import ModelPool

# A config with at least this share of its vectors is searched; one with fewer would favour the
# files that have theirs.
MIN_COMPLETE_SHARE = 0.9

# Running work ends at its next step; a batch of texts takes less than this. Nothing is lost if it
# does not end: what is on disk is consistent at every moment.
STOP_TIMEOUT_SECONDS = 0.5

# An index that another process has just begun can be read after some milliseconds, or after seconds
# on a busy machine.
READABLE_TIMEOUT_SECONDS = 10.0

_OPEN_RETRY_INTERVAL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class FolderIndexView:
    """What a searcher needs of an index."""

    store: IndexStore
    vector_indexes: "tuple[VectorIndex, ...]"


class FolderIndex:
    """Opened, brought up to date as far as the command can wait, searched and closed."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        plan: IndexPlan,
        get_model_pool: "Callable[[], ModelPool] | None",
        *,
        damage: StorageError | None = None,
    ) -> None:
        """Open what there is. Raises StorageError. Without models nothing is embedded."""
        self._plan = plan
        self._get_model_pool = get_model_pool
        self.throttle = BackgroundThrottle()
        self._progress = ProgressTracker()
        self.store = _open_store(folder, damage)
        mark_used(folder, root)
        self.is_read_only = self.store.writer is None
        context = WorkerContext(
            self._progress,
            WorkControl(CancelToken(), self.throttle),
            follows_files=False,
            embeds=get_model_pool is not None,
        )
        self._worker = IndexWorker(root, self.store, self._open_vector_index, context)
        self._worker.post(WorkRequest(plan=plan))
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="search")
        self._work: list[Future[None]] = []

    @property
    def error(self) -> str:
        """What keeps vectors from being made."""
        return self._worker.embed_worker.error

    def start(self) -> None:
        """Begin to compare the index with the files."""
        if not self.is_read_only:
            self._work.append(self._pool.submit(self._worker.run))

    def wait_for_lexical(self, timeout_seconds: float) -> bool:
        """Wait; returns whether every file is indexed lexically. Raises what failed."""
        done, running = wait(self._work, timeout_seconds)
        for work in done:
            work.result()
        return not running

    @property
    def is_embedding_done(self) -> bool:
        """Whether nothing is left to wait for. Raises what failed."""
        if self._worker.failure:
            raise self._worker.failure
        without_vectors = self.is_read_only or self._get_model_pool is None
        return without_vectors or self._worker.embed_worker.is_idle

    @property
    def indexing_progress(self) -> IndexingProgress:
        """How far everything is."""
        started, done = self._progress.started_count, self._progress.done_count
        read = max(done, min(self._progress.read_count, started))
        share = (read + done) / 2 / started if started else 0.0
        return IndexingProgress(read, started, self._worker.chunk_count, share)

    def list_statuses(self) -> tuple[EmbeddingConfigStatus, ...]:
        """Return the progress of each selected config."""
        if self.is_read_only or self._get_model_pool is None:
            return ()
        files, chunks, _ = self.store.catalog.count_contents()
        return self._worker.embed_worker.list_statuses(self._plan, chunks, files)

    def get_searchable(self) -> FolderIndexView:
        """Return the lexical index, and the vectors of each config that has enough of them."""
        files, chunks, _ = self.store.catalog.count_contents()
        max_waiting = (1 - MIN_COMPLETE_SHARE) * chunks
        complete = (
            index
            for index in self._worker.embed_worker.vector_indexes
            if index.get_status(chunks, files).waiting <= max_waiting
        )
        return FolderIndexView(self.store, tuple(complete))

    def close(self) -> None:
        """Stop at the next step; the store is closed if no thread uses it any more."""
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        self._worker.stop()
        _, running = wait(self._work, STOP_TIMEOUT_SECONDS)
        left = max(0.0, deadline - time.monotonic())
        if self._worker.join_embed_thread(left) and not running:
            self.store.close()

    def _open_vector_index(self, config: ConfigPlan, performance: Performance) -> "VectorIndex":
        from codekernel.indexing.vector_index import VectorIndex  # noqa: PLC0415 - heavy

        if self._get_model_pool is None:
            raise AssertionError("there are no models")
        return VectorIndex(config, performance, self._get_model_pool(), self.store, self.throttle)


def _open_store(folder: Path, damage: StorageError | None) -> IndexStore:
    """Open the index to write, or to read once another process has made something readable."""
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

# Vectors make a better answer (NDCG@10 .890, lexical alone .882), which is worth this much.
VECTORS_TIMEOUT_SECONDS = 3.0

# Loading LanceDB takes 2 s of CPU and a model half a second, more on a busy machine. It ends for
# certain, so it is waited for: otherwise the same search would answer differently by chance.
OPENING_TIMEOUT_SECONDS = 20.0


def wait_for_lexical(index: FolderIndex, bar: ProgressBar) -> None:
    """Wait until every file is indexed lexically. Raises what failed."""
    while not index.wait_for_lexical(POLL_INTERVAL_SECONDS):
        bar.show(index.indexing_progress)


def wait_for_vectors(
    index: FolderIndex,
    bar: ProgressBar,
    *,
    until_complete: bool,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Wait until the vectors are complete, or, unless ``until_complete``, would take too long."""
    began = clock()
    opened: float | None = None
    while not index.is_embedding_done:
        statuses = index.list_statuses()
        if index.error:
            return
        if opened is None and all(status.ready or status.trouble for status in statuses):
            opened = clock()
        if not until_complete and _is_too_long(
            statuses, clock() - began, opened and clock() - opened
        ):
            return
        bar.show(index.indexing_progress)
        time.sleep(POLL_INTERVAL_SECONDS)


@contextmanager
def open_updated_index(
    root: Path,
    folder: Path,
    plan: IndexPlan,
    get_model_pool: "Callable[[], ModelPool] | None",
    wait: Callable[[FolderIndex], None],
) -> Iterator[FolderIndex]:
    """Open the folder's index and bring it up to date as far as ``wait`` waits.

    A damaged index is rebuilt from the files.
    """
    with ExitStack() as held:
        try:
            index = held.enter_context(closing(FolderIndex(root, folder, plan, get_model_pool)))
            wait(index)
        except (CatalogDamaged, LexicalIndexDamaged) as damage:
            held.close()
            print_notice(f"{damage} It is rebuilt from the files.")
            index = FolderIndex(root, folder, plan, get_model_pool, damage=damage)
            held.enter_context(closing(index))
            wait(index)
        yield index


@contextmanager
def open_index_with_bar(
    root: Path,
    folder: Path,
    plan: IndexPlan,
    get_model_pool: "Callable[[], ModelPool] | None",
    *,
    until_complete: bool,
) -> Iterator[FolderIndex]:
    """Open the folder's index; show a progress bar while it is brought up to date."""
    bar = ProgressBar(sys.stderr)
    wait = partial(_wait_for_index, bar=bar, until_complete=until_complete)
    with ExitStack() as held:
        held.callback(bar.clear)  # whatever happens
        index = held.enter_context(open_updated_index(root, folder, plan, get_model_pool, wait))
        bar.clear()
        yield index


def _wait_for_index(index: FolderIndex, bar: ProgressBar, *, until_complete: bool) -> None:
    """Start indexing and wait as long as it pays; on a full disk print a notice and return."""
    try:
        index.start()
        wait_for_lexical(index, bar)
        wait_for_vectors(index, bar, until_complete=until_complete)
    except (CatalogDamaged, LexicalIndexDamaged):
        raise
    except StorageError as error:  # a full disk; what is indexed can be searched
        bar.clear()
        print_notice(str(error))


def describe_missing(index: FolderIndex) -> list[str]:
    """Return sentences on what a search has to do without."""
    if index.is_read_only:
        return ["another codekernel keeps this index, so it is searched by words and as it is"]
    messages = [index.error] if index.error else []
    statuses = index.list_statuses()
    messages += [
        f"embedding config {status.name} is not used: {status.trouble}"
        for status in statuses
        if status.trouble
    ]
    late = [
        status for status in statuses if (status.waiting or not status.ready) and not status.trouble
    ]
    if late and not messages and not index.is_embedding_done:
        known = [status.seconds_left for status in late if status.seconds_left]
        left = f", {format_duration(sum(known))} left" if len(known) == len(late) else ""
        names = " and ".join(status.name for status in late)
        messages.append(
            f"meaning is still being indexed ({names}{left}); each search goes on with it for a"
            " moment, and --wait waits for all of it"
        )
    return messages


def _is_too_long(
    statuses: tuple[EmbeddingConfigStatus, ...], waited: float, since_opened: float | None
) -> bool:
    if since_opened is None:
        return waited > OPENING_TIMEOUT_SECONDS
    left = VECTORS_TIMEOUT_SECONDS - since_opened
    known = sum(status.seconds_left or 0.0 for status in statuses)
    return left <= 0 or known > left
