"""The thread that embeds the chunks of one repository for every selected embedding config.

Opens and swaps models when the settings change, and retries after storage errors.
"""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Sequence

from codekernel.domain.concurrency import WorkControl
from codekernel.domain.index import EmbeddingConfigStatus
from codekernel.errors import Cancelled, InvalidModel, StorageError
from codekernel.indexing.battery import is_on_battery
from codekernel.indexing.index_plan import (
    ConfigPlan,
    IndexPlan,
    ModelSwap,
    OpenVectorIndex,
    VectorIndex,
)
from codekernel.indexing.progress import ProgressTracker
from codekernel.storage.engine_errors import CatalogDamaged, LexicalIndexDamaged, VectorsDamaged
from codekernel.storage.index_store import IndexStore
from codekernel.storage.quarantine import QUARANTINE_MARK

logger = logging.getLogger(__name__)

# After so long without work the store is tidied.
IDLE_COMPACT_SECONDS = 2.0

# Whoever opens a repository asks its first question soon, and words answer it; importing what the
# vectors need takes seconds of the same interpreter, and begins after this.
START_DELAY_SECONDS = 0.3

# Files are compared before that, if it does not take too long: beside it, a million chunks were
# compared in eight seconds, and before it in two.
SCAN_WAIT_TIMEOUT_SECONDS = 5.0

# A full disk or a battery is looked at again after this.
RETRY_INTERVAL_SECONDS = 30.0

# Vectors that are damaged so often in a row, before anything could be done with them, are left
# alone for a while: the disk is at fault.
MAX_REOPENS = 3

# Fingerprints of models that came with codekernel once (codekernel-static-v1): nobody can search
# their vectors any more, whatever the settings say.
OUTDATED_MODELS = frozenset({"f9270d03cd4ee0a6"})


class EmbedWorker:
    """The arms of one repository; ``run`` is the whole life of its thread."""

    def __init__(
        self,
        store: IndexStore,
        open_vector_index: OpenVectorIndex,
        progress: ProgressTracker,
        control: WorkControl,
    ) -> None:
        self._store = store
        self._open_vector_index = open_vector_index
        self._progress = progress
        self._cancel = control.cancel
        self._pause = control.pause
        self._plan: IndexPlan | None = None
        self._next_plan: IndexPlan | None = None
        self._swap = ModelSwap()
        self._config_errors: dict[ConfigPlan, str] = {}
        self._retry_open_at: float | None = None
        self._new_files: list[tuple[int, str]] = []
        self._remaining: dict[int, tuple[str, set[str]]] = {}
        self._needs_compaction = True
        self._is_working = False
        self._has_opened = False
        self._expects_files = False
        self._has_scanned = False
        self._is_all_chunked = False
        self._has_swapped = False
        self._condition = threading.Condition()
        self._reopen_count = 0
        self.error = ""
        self.on_indexes_closed: Callable[[], None] = lambda: None

    @property
    def vector_indexes(self) -> tuple[VectorIndex, ...]:
        """The configs to search now: while the settings change, the old until the new are ready."""
        return self._swap.searched

    @property
    def chunk_sizes(self) -> set[int]:
        """The cuts that are searched or embedded now, also by configs that are on their way out."""
        return self._swap.chunk_sizes

    @property
    def is_idle(self) -> bool:
        """Whether everything that can have vectors has them."""
        with self._condition:
            return self._has_swapped and not self._is_working and not self._has_work()

    @property
    def is_standing_still(self) -> bool:
        """Whether nothing is being done at the moment."""
        return not self._is_working or bool(self.error)

    def reconfigure(self, plan: IndexPlan) -> None:
        """Take other settings, as soon as the group under way is done."""
        with self._condition:
            self._next_plan = plan
            self._is_all_chunked = False
            self._condition.notify_all()

    def enqueue_files(self, files: Sequence[tuple[int, str]]) -> None:
        """Files whose texts may need vectors."""
        with self._condition:
            self._new_files += files
            self._needs_compaction = True
            self._condition.notify_all()

    def notice_scan(self, *, has_files: bool) -> None:
        """The files have been compared; if some are about to come, open the models now."""
        with self._condition:
            self._has_scanned = True
            if has_files:
                self._expects_files = not self._has_opened
            self._condition.notify_all()

    def mark_all_chunked(self) -> None:
        """Every file has been cut as the settings ask, and pushed: nothing else will wait."""
        with self._condition:
            self._is_all_chunked = True
            self._condition.notify_all()

    def wake(self) -> None:
        """Look at the cancel token and the pause now."""
        with self._condition:
            self._condition.notify_all()

    def list_statuses(
        self, plan: IndexPlan, chunks: int, files: int
    ) -> tuple[EmbeddingConfigStatus, ...]:
        """How far each config of a plan is."""
        ready = {arm.config: arm.get_status(chunks, files) for arm in self._swap.current}
        return tuple(
            ready.get(config) or _build_unready_status(config, self._config_errors.get(config, ""))
            for config in plan.configs
        )

    def run(self) -> None:
        """Work until cancelled."""
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
                    logger.warning("vectors cannot be kept for now: %s", error)
                    self._cancel.wait(RETRY_INTERVAL_SECONDS)
        finally:
            for arm in self._swap.remove_all():
                arm.close()

    def _reopen_tables(self, damage: VectorsDamaged) -> None:
        """Quarantine tables that cannot be used, and embed again what they had."""
        self._reopen_count += 1
        self.error = f"{damage} What is damaged is made again."
        logger.warning("%s", self.error)
        if self._reopen_count > MAX_REOPENS:
            self._cancel.wait(RETRY_INTERVAL_SECONDS)
        for arm in self._swap.current:
            arm.reopen()
            self._enqueue_missing(arm)

    def _run_once(self) -> None:
        """One group of texts, or a change of settings, or a wait for either."""
        with self._condition:
            if not self._can_continue():
                self._is_working = False
                self._condition.wait(None if self._pause.is_paused else IDLE_COMPACT_SECONDS)
                if self._pause.is_paused and not self._can_continue():
                    return
            self._is_working = True
            wanted, self._next_plan = self._next_plan, None
            fresh, self._new_files = self._new_files, []
            expecting, self._expects_files = self._expects_files, False
            nothing = not (wanted or fresh or self._has_pending_files() or self._can_finish_swap())
        if wanted is not None:
            self._apply_plan(wanted)
        if (fresh or expecting) and self._plan and not self._has_opened:
            self._open_indexes(self._plan)
        self._enqueue_new_files(fresh)
        if nothing and self._retry_open_at and time.monotonic() >= self._retry_open_at:
            self._retry_open_at = None
            self._open_indexes(self._plan or IndexPlan())
        elif nothing:
            self._compact_when_idle()
        elif self._has_pending_files() and self._can_embed():
            self._embed_batch()
        self._finish_swap()

    def _has_work(self) -> bool:
        return self._has_input() or self._has_pending_files() or self._can_finish_swap()

    def _has_input(self) -> bool:
        news = bool(self._new_files) or self._expects_files
        return news or self._next_plan is not None or self._cancel.is_cancelled

    def _has_pending_files(self) -> bool:
        return any(arm.has_pending_files for arm in self._swap.current)

    def _can_finish_swap(self) -> bool:
        """Whether the new arms have caught up with all there is."""
        under_way = self._plan is not None and not self._has_swapped
        caught_up = not any(arm.has_pending_files for arm in self._swap.warming)
        return under_way and self._is_all_chunked and caught_up and not self._has_input()

    def _can_continue(self) -> bool:
        """In a pause models are opened, for searches need them, and nothing is embedded."""
        return self._has_input() if self._pause.is_paused else self._has_work()

    def _can_embed(self) -> bool:
        if self._pause.is_paused:
            return False
        if self._plan and self._plan.performance.pause_on_battery and is_on_battery():
            self.error = "waiting for mains power, as the settings ask"
            self._cancel.wait(RETRY_INTERVAL_SECONDS)
            return False
        return True

    def _embed_batch(self) -> None:
        arm = next((arm for arm in self._swap.current if arm.has_pending_files), None)
        if arm is None:
            return
        step = arm.embed_batch(self._pause.create_step_token(self._cancel))
        for file_id in step.finished_files:
            self._finish_file(file_id, arm.config.name)
        if step.partial_file:
            self._report_progress(*step.partial_file)

    def _apply_plan(self, plan: IndexPlan) -> None:
        """Open what is newly selected; what no longer is answers until that has caught up."""
        self._plan = plan
        self._has_swapped = False
        returning, closing = self._swap.start_swap(plan)
        self._close_indexes(closing)
        self._finish_closed_configs()
        for arm in returning:
            self._enqueue_missing(arm)
        self._config_errors = {}
        # A repository without text needs no model, and a model costs a second and its memory.
        self._has_opened = False
        if self._store.catalog.count_contents()[1]:
            if not self._swap.searched:
                self._delay_opening()
            self._open_indexes(plan)

    def _close_indexes(self, vector_indexes: Sequence[VectorIndex]) -> None:
        for arm in vector_indexes:
            arm.close()
        if vector_indexes:
            self.on_indexes_closed()

    def _delay_opening(self) -> None:
        self._cancel.wait(START_DELAY_SECONDS)
        with self._condition:
            self._condition.wait_for(
                lambda: self._has_scanned or self._pause.is_paused or self._cancel.is_cancelled,
                SCAN_WAIT_TIMEOUT_SECONDS,
            )

    def _open_indexes(self, plan: IndexPlan) -> None:
        self._has_opened, self._has_swapped = True, False
        for config in plan.configs:
            known = {arm.config for arm in self._swap.current}
            if config not in known and not self._cancel.is_cancelled:
                self._open_config(config, plan)
        if not self._swap.warming:  # as none of them can be used, nobody is waited for
            self._close_indexes(self._swap.finish_swap())

    def _open_config(self, config: ConfigPlan, plan: IndexPlan) -> None:
        try:
            arm = self._open_vector_index(config, plan.performance)
        except (InvalidModel, StorageError) as error:
            if str(error) != self._config_errors.get(config):
                logger.warning("embedding config %s is not used: %s", config.name, error)
            self._config_errors[config] = str(error)
            if isinstance(error, StorageError):  # a full disk, which gets room again
                self._retry_open_at = time.monotonic() + RETRY_INTERVAL_SECONDS
            return
        self._config_errors.pop(config, None)
        self._swap.add_warming(arm, plan)
        self._enqueue_missing(arm)

    def _enqueue_missing(self, vector_index: VectorIndex) -> None:
        files = [
            (file_id, path)
            for file_id in vector_index.enqueue_missing()
            if (path := self._store.catalog.find_path(file_id)) is not None
        ]
        self._progress.begin_files(path for _, path in files)
        for file_id, path in files:
            self._remaining.setdefault(file_id, (path, set()))[1].add(vector_index.config.name)

    def _finish_swap(self) -> None:
        """Close the arms that have been replaced, and forget vectors nobody wants."""
        with self._condition:
            if not self._can_finish_swap() or self._plan is None:
                return
            self._has_swapped = True
        self._close_indexes(self._swap.finish_swap())
        all_open = {arm.config for arm in self._swap.current} == set(self._plan.configs)
        if self._has_opened and all_open:
            self._delete_unused_vectors(is_certain=self._plan.is_certain)

    def _delete_unused_vectors(self, *, is_certain: bool) -> None:
        used = {arm.folder_name for arm in self._swap.current}
        for folder in self._store.list_vectors_folders():
            is_outdated = folder.name.partition("-")[0] in OUTDATED_MODELS
            if folder.name not in used and (is_certain or is_outdated):
                logger.info("deleting vectors that no selected config uses: %s", folder.name)
                shutil.rmtree(folder, ignore_errors=True)
                for damaged in folder.parent.glob(f"{folder.name}{QUARANTINE_MARK}*"):
                    shutil.rmtree(damaged, ignore_errors=True)

    def _enqueue_new_files(self, files: Sequence[tuple[int, str]]) -> None:
        names = {arm.config.name for arm in self._swap.current}
        for file_id, path in files:
            if names:
                self._remaining.setdefault(file_id, (path, set()))[1].update(names)
            else:
                self._progress.finish_file(path)
        for arm in self._swap.current:
            arm.enqueue_files(file_id for file_id, _ in files)

    def _finish_file(self, file_id: int, name: str) -> None:
        path, left = self._remaining.get(file_id, ("", set()))
        left.discard(name)
        if left:
            self._report_progress(file_id, 0.0)
        elif path:
            del self._remaining[file_id]
            self._progress.finish_file(path)

    def _report_progress(self, file_id: int, share: float) -> None:
        """Report a file; ``share`` is how far its present config is."""
        arms = len(self._swap.current)
        if file_id in self._remaining and arms:
            path, left = self._remaining[file_id]
            self._progress.mark_embedded(path, 1 - (len(left) - share) / max(arms, len(left)))

    def _finish_closed_configs(self) -> None:
        """Files that waited only for a config that no longer works are done."""
        names = {arm.config.name for arm in self._swap.current}
        for file_id, (_, left) in list(self._remaining.items()):
            for name in left - names:
                self._finish_file(file_id, name)

    def _compact_when_idle(self) -> None:
        # A long initial index pauses between two batches too. Tidying rewrites all rows: done in
        # each pause, it would take a time that grows with the square of the rows.
        if (
            self._needs_compaction
            and not self._progress.pending_count
            and not self._pause.is_paused
        ):
            self._needs_compaction = False
            for arm in self._swap.current:
                if not self._cancel.is_cancelled:
                    arm.compact()


def _build_unready_status(config: ConfigPlan, error: str) -> EmbeddingConfigStatus:
    return EmbeddingConfigStatus(
        name=config.name,
        ready=False,
        chunks=0,
        waiting=0,
        chunks_per_second=None,
        seconds_left=None,
        trouble=error,
    )
