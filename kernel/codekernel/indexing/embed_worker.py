"""The thread that embeds the chunks of one repository for every selected embedding config.

Opens and swaps models when the settings change, and retries after storage errors.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from codekernel.domain.index import EmbeddingConfigStatus
from codekernel.errors import Cancelled, InvalidModel, NetworkError, StorageError
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.index_state import (
    ChunkingProgress,
    EmbedInbox,
    EmbedState,
    MissingVectors,
    WorkerContext,
)
from codekernel.indexing.model_swap import ModelSwap
from codekernel.indexing.unused_vectors import delete_unused_vectors
from codekernel.storage.engines import CatalogDamaged, LexicalIndexDamaged, VectorsDamaged
from codekernel.storage.index_store import IndexStore

if TYPE_CHECKING:  # heavy: numpy and the inference runtime
    from codekernel.domain.settings import Performance
    from codekernel.indexing.vector_index import VectorIndex

logger = logging.getLogger(__name__)

OpenVectorIndex: TypeAlias = "Callable[[ConfigPlan, Performance], VectorIndex]"

# Vectors that are damaged this often in a row are left alone for a while: the disk is faulty.
MAX_REOPENS = 3


class EmbedWorker:
    """The vector indexes of one repository; ``run`` is the body of their thread."""

    def __init__(
        self,
        store: IndexStore,
        open_vector_index: OpenVectorIndex,
        context: WorkerContext,
        on_chunks_unused: Callable[[], None],
    ) -> None:
        self.error, self._store = "", store
        self._open_vector_index = open_vector_index
        self._progress, self._timings = context.progress, context.timings
        self._cancel, self._pause = context.control.cancel, context.control.pause
        self._is_on_battery = context.is_on_battery
        self._on_chunks_unused = on_chunks_unused
        self._condition = threading.Condition()
        self._inbox = EmbedInbox()
        self._taken_count = 0  # files that left the inbox and are not queued yet
        self._state = EmbedState.UNPLANNED
        self._chunking = ChunkingProgress.UNSCANNED
        self._is_working = False
        self._plan = IndexPlan()
        self.swap = ModelSwap()  # of which other threads read what may be sent
        self._config_errors: dict[ConfigPlan, str] = {}
        self._missing = MissingVectors(context.progress)
        self._needs_compaction = True
        self._retry_open_at: float | None = None
        self._reopen_count = 0

    @property
    def chunk_sizes(self) -> set[int]:
        """The chunk sizes that are searched or embedded now, also by retiring configs."""
        return self.swap.chunk_sizes

    @property
    def is_idle(self) -> bool:
        """Whether everything that can have vectors has them."""
        with self._condition:
            is_complete = self._state in {EmbedState.READY, EmbedState.EMPTY}
            if self._chunking is ChunkingProgress.COMPLETE:
                is_complete |= self.swap.waits_for_endpoints
            return is_complete and not self._is_working and not self._has_work()

    def answer_ask(self, model: str, *, allowed: bool) -> bool:
        """Keep whether a remote model may be sent the repository; false if it is not in use."""
        is_used = self.swap.answer_ask(model, allowed=allowed)
        self.wake()
        return is_used

    @property
    def is_suspended(self) -> bool:
        """Whether nothing is being done at the moment."""
        return not self._is_working or bool(self.error)

    def reconfigure(self, plan: IndexPlan, *, opens_now: bool = False) -> None:
        """Use other settings, after the running batch; ``opens_now`` without leaving a moment."""
        with self._condition:
            self._inbox.plan = plan
            self._inbox.opens_now |= opens_now
            if self._chunking is ChunkingProgress.COMPLETE:
                self._chunking = ChunkingProgress.SCANNED
            self._condition.notify_all()

    def enqueue_files(self, files: Sequence[tuple[int, str]]) -> None:
        """Embed the texts of these files, given by id and path, that have no vectors."""
        with self._condition:
            self._inbox.files += files
            self._condition.notify_all()

    def notice_scan(self, *, has_files: bool) -> None:
        """The files have been compared; if some are about to come, open the models now."""
        with self._condition:
            is_first = self._chunking is ChunkingProgress.UNSCANNED
            if is_first:
                self._chunking = ChunkingProgress.SCANNED
            if has_files:
                is_open = self._state in {EmbedState.WARMING, EmbedState.READY}
                self._inbox.expects_files = not is_open
            if is_first or has_files:  # with each file read: a thread that wakes costs a switch
                self._condition.notify_all()

    def mark_all_chunked(self) -> None:
        """Every file has been chunked as the settings ask, and enqueued."""
        with self._condition:
            self._chunking = ChunkingProgress.COMPLETE
            self._condition.notify_all()

    def wake(self) -> None:
        """Look at the cancel token and the pause now."""
        with self._condition:
            self._condition.notify_all()

    def list_statuses(
        self, plan: IndexPlan, chunks: int, files: int
    ) -> tuple[EmbeddingConfigStatus, ...]:
        """Return the progress of each config of a plan."""
        with self._condition:
            arriving = len(self._inbox.files) + self._taken_count
        ready = {
            each.config: each.get_status(chunks, files, arriving) for each in self.swap.current
        }
        return tuple(
            ready.get(config)
            or EmbeddingConfigStatus(
                name=config.name,
                ready=False,
                chunks=0,
                waiting=0,
                chunks_per_second=None,
                seconds_left=None,
                trouble=self._config_errors.get(config, ""),
            )
            for config in plan.configs
        )

    def run(self) -> None:
        """Work until cancelled. Raises CatalogDamaged or LexicalIndexDamaged."""
        try:
            while not self._cancel.is_cancelled:
                try:
                    self._run_once()
                    self.error = ""
                    self._reopen_count = 0
                except Cancelled:
                    continue
                except (CatalogDamaged, LexicalIndexDamaged):
                    raise
                except VectorsDamaged as damage:
                    self._reopen_tables(damage)
                except StorageError as error:
                    self.error = str(error)
                    logger.warning("vectors cannot be stored for now: %s", error)
                    self._wait_for_plan(self._timings.embed_retry)
        finally:
            for index in self.swap.remove_all():
                index.close()

    def _run_once(self) -> None:
        """Do one batch, or apply a change of settings, or wait for either."""
        self._taken_count = 0  # also after an error
        if not self._wait_for_work():
            self._maintain()
            return
        with self._condition:
            inbox, self._inbox = self._inbox, EmbedInbox()
            self._taken_count = len(inbox.files)
        if inbox.plan is not None:
            self._apply_plan(inbox.plan, opens_now=inbox.opens_now)
        has_no_models = self._state in {EmbedState.UNOPENED, EmbedState.EMPTY}
        if (inbox.files or inbox.expects_files) and has_no_models:
            self._open_indexes()
        self._enqueue_new_files(inbox.files)
        self._taken_count = 0
        self._reopen_outdated()
        if self.swap.has_embeddable_files and self._can_embed():
            self._embed_batch()
        self._finish_swap()

    def _wait_for_work(self) -> bool:
        """Wait; false after a while without work, which is the time for maintenance."""
        with self._condition:
            if not self._can_work():
                self._is_working = False
                paused = self._pause.is_paused
                self._condition.wait_for(
                    lambda: self._can_work() or self._pause.is_paused is not paused,
                    None if paused else self._get_idle_timeout(),
                )
            self._is_working = True
            return self._can_work()

    def _get_idle_timeout(self) -> float | None:
        if self._needs_compaction:
            return self._timings.compact_delay
        moments = [at for at in (self._retry_open_at, *self.swap.list_retry_times()) if at]
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _can_work(self) -> bool:
        """In a pause models are opened, because searches need them, and nothing is embedded."""
        if self._inbox or self._cancel.is_cancelled:
            return True
        return not self._pause.is_paused and self._has_work()

    def _has_work(self) -> bool:
        is_asked = bool(self._inbox or self.swap.list_outdated()) or self._cancel.is_cancelled
        return is_asked or self.swap.has_embeddable_files or self._can_finish_swap()

    def _can_finish_swap(self) -> bool:
        """Whether the new vector indexes are complete."""
        return (
            self._state in {EmbedState.UNOPENED, EmbedState.WARMING}
            and self._chunking is ChunkingProgress.COMPLETE
            and not any(index.has_pending_files for index in self.swap.warming)
            and not self._inbox
            and not self._cancel.is_cancelled
        )

    def _can_embed(self) -> bool:
        if self._pause.is_paused:
            return False
        if self._plan.performance.pause_on_battery and self._is_on_battery():
            self.error = "waiting for mains power, as the settings ask"
            self._wait_for_plan(self._timings.embed_retry)
            return False
        return True

    def _wait_for_plan(
        self, timeout_seconds: float, is_over: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait, but not longer than until other settings come; true if they came."""
        with self._condition:
            self._condition.wait_for(
                lambda: self._inbox.plan is not None or self._cancel.is_cancelled or is_over(),
                timeout_seconds,
            )
            return self._inbox.plan is not None

    def _embed_batch(self) -> None:
        index = self.swap.choose_to_embed()
        was_waiting = index.is_waiting
        try:
            step = index.embed_batch(self._pause.create_step_token(self._cancel))
        except NetworkError as error:
            self._postpone(index, error)
            return
        if was_waiting:
            self._enqueue_missing(index)  # it is reported again
        self._needs_compaction = True
        for file_id in step.finished_files:
            self._missing.finish(file_id, index.config.name, len(self.swap.current))
        if step.partial_file:
            self._missing.report(*step.partial_file, len(self.swap.current))

    def _postpone(self, index: "VectorIndex", error: NetworkError) -> None:
        """Go on without an endpoint; what waits for it alone counts as done until it is back."""
        if index.remote is None:
            raise error
        index.remote.postpone(error)
        self._missing.keep_configs({it.config.name for it in self.swap.current if it is not index})

    def _reopen_outdated(self) -> None:
        """Open the remote models anew that are others than before."""
        for index in self.swap.list_outdated():
            self.swap.discard(index)
            self._close_indexes([index])
            self._state = EmbedState.WARMING
            self._open_config(index.config)

    def _apply_plan(self, plan: IndexPlan, *, opens_now: bool) -> None:
        """Open what is newly selected; what no longer is answers until that is complete."""
        self._plan = plan
        self._state = EmbedState.UNOPENED
        returning, closing = self.swap.start_swap(plan)
        self._close_indexes(closing)
        self._missing.keep_configs({index.config.name for index in self.swap.current})
        for index in returning:
            self._enqueue_missing(index)
        self._config_errors = {}
        has_chunks = self._store.catalog.count_contents()[1]
        opens_now = opens_now or bool(self.swap.searched)
        if has_chunks and (opens_now or not self._delay_opening()):
            self._open_indexes()

    def _delay_opening(self) -> bool:
        """Wait for questions and, without snapshots, for the scan; true if other settings came."""
        wait = 0.0 if self._store.has_snapshots else self._timings.max_scan_wait
        return self._wait_for_plan(self._timings.embed_start_delay) or self._wait_for_plan(
            wait, lambda: self._chunking is not ChunkingProgress.UNSCANNED or self._pause.is_paused
        )

    def _open_indexes(self) -> None:
        self._state = EmbedState.WARMING
        for config in self._plan.configs:
            known = {index.config for index in self.swap.current}
            if config not in known and not self._cancel.is_cancelled:
                self._open_config(config)
        if not self.swap.warming:  # none of them can be used, so nothing is waited for
            self._close_indexes(self.swap.finish_swap())

    def _open_config(self, config: ConfigPlan) -> None:
        try:
            index = self._open_vector_index(config, self._plan.performance)
        except (InvalidModel, StorageError, NetworkError) as error:
            if str(error) != self._config_errors.get(config):
                logger.warning("embedding config %s is not used: %s", config.name, error)
            self._config_errors[config] = str(error)
            if not isinstance(error, InvalidModel):  # a full disk, an endpoint that is away
                self._retry_open_at = time.monotonic() + self._timings.embed_retry
            return
        self._config_errors.pop(config, None)
        self.swap.add_warming(index)
        self._needs_compaction = True
        self._enqueue_missing(index)

    def _close_indexes(self, vector_indexes: "Sequence[VectorIndex]") -> None:
        for index in vector_indexes:
            index.close()
        if vector_indexes:
            self._on_chunks_unused()

    def _reopen_tables(self, damage: VectorsDamaged) -> None:
        """Quarantine tables that cannot be used, and embed again what they held."""
        self._reopen_count += 1
        self.error = f"{damage} What is damaged is made again."
        logger.warning("%s", self.error)
        if self._reopen_count > MAX_REOPENS:
            self._wait_for_plan(self._timings.embed_retry)
        for index in self.swap.current:
            index.reopen()
            self._enqueue_missing(index)

    def _enqueue_missing(self, vector_index: "VectorIndex") -> None:
        files = [
            (file_id, path)
            for file_id in vector_index.enqueue_missing()
            if (path := self._store.catalog.find_path(file_id)) is not None
        ]
        self._progress.begin_files(path for _, path in files)
        self._missing.add(files, {vector_index.config.name})

    def _enqueue_new_files(self, files: Sequence[tuple[int, str]]) -> None:
        self._missing.add(files, {it.config.name for it in self.swap.current if not it.is_waiting})
        for index in self.swap.current:
            index.enqueue_files(file_id for file_id, _ in files)
        self._needs_compaction |= bool(files)

    def _finish_swap(self) -> None:
        """Close the replaced vector indexes, and delete vectors that no config uses."""
        with self._condition:
            if not self._can_finish_swap():
                return
            is_opened = self._state is EmbedState.WARMING
            self._state = EmbedState.READY if is_opened else EmbedState.EMPTY
        self._close_indexes(self.swap.finish_swap())
        configs = {index.config for index in self.swap.current}
        if is_opened and configs == set(self._plan.configs):
            used = {index.name for index in self.swap.current}
            delete_unused_vectors(self._store, used, is_certain=self._plan.is_certain)

    def _maintain(self) -> None:
        """Use a moment without work: open what could not be opened, or compact the vectors."""
        if self._pause.is_paused:
            return
        if self._retry_open_at and time.monotonic() >= self._retry_open_at:
            self._retry_open_at = None
            self._open_indexes()
            self._finish_swap()
        else:
            self._compact()

    def _compact(self) -> None:
        # A long initial index pauses between two batches too. Compaction rewrites all rows: done in
        # each pause, it would take a time that grows with the square of the rows.
        if self._needs_compaction and not self._progress.pending_count:
            self._needs_compaction = False
            for index in self.swap.current:
                if not self._cancel.is_cancelled:
                    index.compact()
