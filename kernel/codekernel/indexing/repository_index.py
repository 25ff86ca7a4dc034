"""The index of one open repository.

Opens its store, runs its worker, replaces a damaged store by one rebuilt from the files, and
reports progress to subscribers.
"""

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, PauseSwitch, WorkControl
from codekernel.domain.index import EndpointAsk, RepositoryIndexStatus
from codekernel.domain.memory import freeze_imported_objects, trim_native_memory
from codekernel.errors import KernelError, StorageError
from codekernel.indexing import index_plan
from codekernel.indexing.battery import is_on_battery
from codekernel.indexing.damage_report import DamageReport
from codekernel.indexing.files_elsewhere import NOTHING_ELSEWHERE, FilesElsewhere
from codekernel.indexing.index_plan import DEFAULT_TIMINGS, ConfigPlan, IndexPlan, IndexTimings
from codekernel.indexing.index_state import (
    FileProgressCallback,
    IndexState,
    ProgressTracker,
    WorkerContext,
    WorkRequest,
)
from codekernel.indexing.index_worker import IndexWorker
from codekernel.indexing.store_reopening import reopen_store
from codekernel.indexing.team_index import RestoreIndex, TeamIndexTaker, restore_nothing
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.engines import CatalogDamaged, LexicalIndexDamaged, is_unwritable
from codekernel.storage.index_store import (
    IndexNeedsReopen,
    IndexNotReady,
    IndexStore,
    open_empty_index,
    open_index,
)

if TYPE_CHECKING:  # heavy to import, and openRepo waits for this module
    from codekernel.domain.settings import Performance
    from codekernel.indexing.known_vectors import GetTeamVectors
    from codekernel.indexing.vector_index import VectorIndex
    from codekernel.inference.model_pool import ModelPool
    from codekernel.remote.remote_models import RemoteModels
    from codekernel.storage.process_lock import ProcessLock

logger = logging.getLogger(__name__)

# After this many unexpected failures indexing is given up, and the sessions crash.
MAX_RESTARTS = 3

Found = TypeVar("Found")

CrashCallback = Callable[[BaseException], None]


class RepositoryIndex:
    """Opened by the first window on a repository, closed by the last."""

    def __init__(  # noqa: PLR0913 - an index, and what tests replace
        self,
        root: Path,
        folder: Path,
        get_model_pool: "Callable[[], ModelPool]",
        throttle: BackgroundThrottle | None = None,
        *,
        timings: IndexTimings = DEFAULT_TIMINGS,
        is_on_battery: Callable[[], bool] = is_on_battery,
        get_team_vectors: "GetTeamVectors" = lambda _model, _dimensions: None,
        get_remote_models: "Callable[[], RemoteModels] | None" = None,
        restore_index: RestoreIndex = restore_nothing,
        elsewhere: FilesElsewhere = NOTHING_ELSEWHERE,
    ) -> None:
        """Open what there is. Raises StorageError. No thread runs before ``start``.

        An index that another process writes is read, and written once that process ends.
        """
        self.throttle = throttle or BackgroundThrottle()
        self._root, self._folder, self._elsewhere = root, folder, elsewhere
        self._sources = index_plan.ModelSources(get_model_pool, get_team_vectors, get_remote_models)
        self._taker = TeamIndexTaker(root, folder, restore_index, self._elsewhere)
        self._timings, self._is_on_battery = timings, is_on_battery
        self._plan: IndexPlan | None = None
        self._crash_callbacks: dict[object, CrashCallback] = {}
        self._cancel, self._pause = CancelToken(), PauseSwitch()
        self._progress = ProgressTracker()
        self._lock, self._vectors_lock = threading.Lock(), threading.Lock()
        self._retired, self._recovered = ExitStack(), threading.Condition()
        self._thread: threading.Thread | None = None
        self._damage = DamageReport(self._folder, self._timings.max_rebuilds)
        self._worker = self._open_worker()

    @property
    def store(self) -> IndexStore:
        """What is searched; another one after a damaged index was rebuilt."""
        return self._worker.store

    @property
    def vector_indexes(self) -> "tuple[VectorIndex, ...]":
        """The vector indexes that can be searched now."""
        return self._worker.embed_worker.swap.searched

    @property
    def is_idle(self) -> bool:
        """Whether the index agrees with the files, as far as is known."""
        return self._worker.is_idle

    def start(self, plan: IndexPlan) -> None:
        """Begin to follow the files; a second call changes nothing.

        A plan from ``reconfigure`` is newer than this one, and stays.
        """
        with self._lock:
            if self._thread is not None:
                return
            self._plan = self._plan or plan
            name = self._root.name
            self._thread = threading.Thread(target=self._run, name=f"index:{name}", daemon=True)
            self._thread.start()
            threading.Thread(
                target=self._progress.run_reminders,
                args=(self._cancel, self._pause),
                name=f"progress:{name}",
                daemon=True,
            ).start()

    def reconfigure(self, plan: IndexPlan) -> None:
        """Use other settings, without an interruption of searches."""
        with self._lock:
            self._plan = plan
            self._worker.post(WorkRequest(plan=plan))

    def subscribe(
        self, on_progress: FileProgressCallback, on_crash: CrashCallback
    ) -> Callable[[], None]:
        """Report each file's progress, beginning with pending files; returns how to stop that.

        ``on_crash`` is called when indexing has been given up.
        """
        token = object()
        self._crash_callbacks[token] = on_crash
        unsubscribe_progress = self._progress.subscribe(on_progress)

        def unsubscribe() -> None:
            unsubscribe_progress()
            self._crash_callbacks.pop(token, None)

        return unsubscribe

    def get_status(self) -> RepositoryIndexStatus:
        """Return how far everything is; an index that cannot be read is then rebuilt."""
        worker = self._worker
        if worker.is_idle:
            self._damage.message = ""
        try:
            status = worker.get_status(self._plan or IndexPlan())
        except StorageError as error:
            self.recover_from(error, worker.store, waits=False)
            message = self._damage.message or str(error)
            state = IndexState.REBUILDING.value
            cause = self._damage.find_cause(message)
            return RepositoryIndexStatus(state, 0, 0, 0, {}, trouble=message, cause=cause)
        found = status.trouble or self._damage.message
        cause, notice = self._damage.find_cause(found), self._taker.read_notice(self)
        return replace(status, trouble=found, cause=cause, notice=notice)

    def query_catalog(self, read: Callable[[Catalog], Found]) -> Found:
        """Return what ``read`` finds; a catalog that is damaged or replaced is recovered from."""
        store = self.store
        try:
            return read(store.catalog)
        except StorageError as error:
            if not self.recover_from(error, store):
                raise
            return read(self.store.catalog)

    def recover_from(self, error: BaseException, store: object, *, waits: bool = True) -> bool:
        """Handle what a search met in ``store``; returns whether another one can be asked now.

        Damage leads to a rebuild; after any other error the index is compared with its checksums.
        """
        worker = self._worker
        if worker.store is not store:
            return True
        is_running = self._thread is not None and self._thread.is_alive()
        if not is_running or worker.store.writer is None or self._damage.is_disk_faulty:
            return False
        before = worker.verification_count
        if isinstance(error, CatalogDamaged | LexicalIndexDamaged):
            worker.fail(error)
        else:
            worker.post(WorkRequest(needs_verification=True))
        if waits:
            self._wait_for_recovery(worker, before)
        return self._worker is not worker

    def _wait_for_recovery(self, worker: IndexWorker, verification_count: int) -> None:
        """Wait until a worker has verified its store; if that ends it, until it is replaced."""

        def is_over() -> bool:
            return (
                self._worker is not worker
                or self._damage.is_disk_faulty
                or self._cancel.is_cancelled
            )

        def is_verified() -> bool:
            return worker.is_stopping or worker.verification_count != verification_count

        with self._recovered:
            self._recovered.wait_for(
                lambda: is_over() or is_verified(), self._timings.max_verification_wait
            )
            if worker.is_stopping:
                self._recovered.wait_for(is_over, self._timings.max_replacement_wait)

    def list_asks(self) -> tuple[EndpointAsk, ...]:
        """Return what remote models would be sent of the repository, if somebody allows it."""
        return self._worker.embed_worker.swap.list_asks()

    def answer_ask(self, model: str, *, allowed: bool) -> bool:
        """Keep whether that is allowed; false if the model is not in use. Raises StorageError."""
        return self._worker.embed_worker.answer_ask(model, allowed=allowed)

    def pause(self) -> None:
        """Suspend the work on the index until ``resume``; changes are noted meanwhile."""
        self._pause.pause()
        self._worker.wake()

    def resume(self) -> None:
        """Continue what was suspended, with what was noted."""
        self._pause.resume()
        self._worker.wake()

    def close(self) -> None:
        """End the threads, then close the store; running work stops at its next step."""
        self._cancel.cancel()
        self._notify_recovered()
        self._progress.wake()
        self._worker.stop()
        if self._thread is not None:
            self._thread.join()
        self._worker.close()
        with self._vectors_lock:  # the embed thread of a worker that was replaced may hold it
            self._retired.close()
        trim_native_memory()

    def _run(self) -> None:
        failures = 0
        while not self._cancel.is_cancelled:
            try:
                self._run_worker()
            except BaseException as error:
                failures += 1
                logger.exception("indexing %s failed", self._root)
                crash = error if failures > MAX_RESTARTS else self._try_restart()
                if crash is not None:
                    for on_crash in list(self._crash_callbacks.values()):
                        on_crash(crash)
                    return

    def _run_worker(self) -> None:
        """Run the worker until it ends; a damaged index is replaced by a new one."""
        self._elsewhere.open()
        if self.store.writer is None:
            self._wait_for_writer()
            return
        if self._taker.fetch(self.store, self._plan or IndexPlan(), self._cancel):
            self._restart()
            self._taker.report_when_idle(self, self._cancel)
            return
        with self._lock:  # a plan that comes now must not be overwritten by this one
            if self._plan:
                self._worker.post(WorkRequest(plan=self._plan))
        try:
            self._worker.run()
        except IndexNeedsReopen as reason:
            logger.info("%s; its index is opened again", reason)
            self._restart()
        except (CatalogDamaged, LexicalIndexDamaged) as damage:
            self._rebuild(damage)

    def _try_restart(self) -> KernelError | None:
        try:
            self._restart()
        except KernelError as error:
            logger.exception("the index of %s cannot be opened again", self._root)
            return error
        return None

    def _rebuild(self, damage: StorageError) -> None:
        """Quarantine what is damaged, and rebuild it from the files.

        What is damaged again and again, before it was complete once, is left alone for a while.
        """
        logger.warning("%s; it is rebuilt from the files", damage)
        self._damage.note_damage(damage, has_settled=self._worker.has_settled)
        if self._damage.is_disk_faulty:
            self._notify_recovered()
            self._cancel.wait(self._timings.faulty_disk_wait)
            self._damage.is_disk_faulty = False
        self._restart(damage)

    def _wait_for_writer(self) -> None:
        """Read what another process writes until it ends, then open the index to write."""
        worker = self._worker
        while not self._cancel.wait(self._timings.writer_retry):
            try:
                can_open = self._folder.is_dir() or worker.state is IndexState.FAILED
                if can_open and (store := reopen_store(self._folder, self.store)):
                    logger.info("the index of %s is opened again", self._root)
                    # Running searches end on the old store, so it is closed last.
                    self._retired.callback(worker.close)
                    self._worker = self._build_worker(store)
                    return
                worker.error, worker.state = "", IndexState.READ_ONLY
            except StorageError as error:
                if str(error) != worker.error:
                    logger.warning("the index of %s is only read: %s", self._root, error)
                worker.error = str(error)

    def _restart(self, damage: StorageError | None = None) -> None:
        """Replace the worker by one on a store that is opened again."""
        if self._cancel.is_cancelled:
            return
        self._worker.stop()
        self._notify_recovered()
        # Searches wait for this, and not for its embed thread: joining tables may take a minute.
        lock = self._worker.store.lock
        self._worker.close_store(keeps_lock=True)
        try:
            self._taker.move_in()
            self._worker = self._open_worker(damage, lock)
        finally:
            if lock and self._worker.store.lock is not lock:
                lock.release()
        self._notify_recovered()

    def _open_worker(
        self, damage: StorageError | None = None, lock: "ProcessLock | None" = None
    ) -> IndexWorker:
        """Open the index; an empty one while another process or the disk gives none to search.

        Raises StorageError.
        """
        try:
            worker = self._build_worker(open_index(self._folder, damage=damage, lock=lock))
        except StorageError as reason:
            is_not_ready = isinstance(reason, IndexNotReady)
            if not (is_not_ready or is_unwritable(self._folder)):
                raise
            try:
                worker = self._build_worker(self._retired.enter_context(open_empty_index()))
            except StorageError:
                raise reason from None
            worker.error = str(reason)
            worker.state = IndexState.READ_ONLY if is_not_ready else IndexState.FAILED
        if worker.store.quarantined and damage is None:
            self._damage.note_quarantined(worker.store.quarantined)
        if worker.error:
            logger.warning("the index of %s waits: %s", self._root, worker.error)
        elif worker.store.writer is None:
            logger.warning("another codekernel writes the index of %s", self._root)
        return worker

    def _build_worker(self, store: IndexStore) -> IndexWorker:
        return IndexWorker(
            self._root,
            store,
            self._open_vector_index,
            WorkerContext(
                self._progress,
                WorkControl(CancelToken(), self.throttle, self._pause),
                *(self._timings, self._is_on_battery, self._vectors_lock, self._elsewhere),
            ),
            self._notify_recovered,
        )

    def _notify_recovered(self) -> None:
        with self._recovered:
            self._recovered.notify_all()

    def _open_vector_index(self, config: ConfigPlan, performance: "Performance") -> "VectorIndex":
        from codekernel.indexing.vector_index_opening import open_vector_index  # noqa: PLC0415 - heavy

        parts = (performance, self._sources, self.store, self.throttle)
        index = open_vector_index(self._root, config, *parts)
        self._damage.message = index.table.repair_message or self._damage.message
        freeze_imported_objects()
        return index
