"""The index of one open repository.

Opens its store, runs its threads, rebuilds what is damaged, and reports progress to
subscribers.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, PauseSwitch, WorkControl
from codekernel.domain.garbage_collection import freeze_imported_objects
from codekernel.domain.index import RepositoryIndexStatus
from codekernel.domain.native_memory import limit_malloc_arenas
from codekernel.errors import KernelError, StorageError
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan, VectorIndex
from codekernel.indexing.index_runtime import IndexRuntime
from codekernel.indexing.progress import EMBEDDING, FileProgressCallback, ProgressTracker
from codekernel.storage.engine_errors import CatalogDamaged, LexicalIndexDamaged
from codekernel.storage.index_store import (
    IndexNeedsReopen,
    IndexNotReady,
    IndexStore,
    open_empty_index,
    open_index,
    open_index_to_read,
    open_index_to_write,
)
from codekernel.storage.os_errors import is_unwritable

if TYPE_CHECKING:  # importing it costs a third of a second, and openRepo waits for this module
    from codekernel.domain.settings import Performance
    from codekernel.inference.model_pool import ModelPool

logger = logging.getLogger(__name__)

# An index that another process keeps is tried again so often; it costs the opening of a file.
WRITER_RETRY_INTERVAL_SECONDS = 1.0

# What is damaged so often without having been whole in between is left alone for so long.
MAX_REBUILDS = 3

FAULTY_DISK_WAIT_SECONDS = 60.0

# For so long a search waits for a damaged index to be replaced by an empty one that grows.
RECOVERY_TIMEOUT_SECONDS = 5.0

RECOVERY_CHECK_INTERVAL_SECONDS = 0.02

# After so many unexpected failures indexing is given up and the sessions are told.
MAX_RESTARTS = 3

CrashCallback = Callable[[BaseException], None]


@dataclass(frozen=True, slots=True)
class _IndexSubscriber:
    on_progress: FileProgressCallback
    on_crash: CrashCallback


class RepositoryIndex:
    """Opened by the first window on a repository, closed by the last."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        get_model_pool: "Callable[[], ModelPool]",
        throttle: BackgroundThrottle | None = None,
    ) -> None:
        """Open what there is; raises StorageError. Nothing runs before ``start``.

        If another process keeps the index, it is read here, and kept once that process lets go.
        """
        limit_malloc_arenas()
        self._root = root
        self._folder = folder
        self._get_model_pool = get_model_pool
        self.throttle = throttle or BackgroundThrottle()
        self._plan: IndexPlan | None = None
        self._subscribers: dict[object, _IndexSubscriber] = {}
        self._cancel = CancelToken()
        self._pause = PauseSwitch()
        self._progress = ProgressTracker(self._report_progress)
        self._lock = threading.Lock()
        self._retired = ExitStack()
        self._report_lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._replaced = threading.Condition()
        self._rebuild_count = 0
        self._recovery_message = ""
        self._is_waiting = False
        self._runtime = self._open_runtime()

    @property
    def store(self) -> IndexStore:
        """What is searched; another one after a damaged index was rebuilt."""
        return self._runtime.store

    @property
    def vector_indexes(self) -> tuple[VectorIndex, ...]:
        """The embedding configs that can be searched now."""
        return self._runtime.embed_worker.vector_indexes

    @property
    def is_idle(self) -> bool:
        """Whether the index agrees with the files, as far as is known."""
        return self._runtime.is_idle

    def start(self, plan: IndexPlan) -> None:
        """Begin to follow the files; a second call changes nothing.

        A plan that ``reconfigure`` has brought is newer than this one, and stays.
        """
        with self._lock:
            if self._thread is not None:
                return
            self._plan = self._plan or plan
            self._thread = threading.Thread(target=self._run, name=f"index:{self._root.name}")
            self._thread.daemon = True
            self._thread.start()
            threading.Thread(
                target=self._progress.run_reminders,
                args=(self._cancel, lambda: self._pause.is_paused),
                name=f"progress:{self._root.name}",
                daemon=True,
            ).start()

    def reconfigure(self, plan: IndexPlan) -> None:
        """Take other settings, without a pause in searching."""
        with self._lock:
            self._plan = plan
            self._runtime.reconfigure(plan)

    def subscribe(
        self, on_progress: FileProgressCallback, on_crash: CrashCallback
    ) -> Callable[[], None]:
        """Have ``report`` called with each file's progress, beginning with those under way.

        ``crashed`` is called if indexing has been given up. Returns the way out.
        """
        token = object()
        with self._report_lock:  # nothing is told between what is under way and what follows
            for path, reached in self._progress.snapshot():
                on_progress(path, EMBEDDING, reached)
            self._subscribers[token] = _IndexSubscriber(on_progress, on_crash)

        def unsubscribe() -> None:
            self._subscribers.pop(token, None)

        return unsubscribe

    def get_status(self) -> RepositoryIndexStatus:
        """How far everything is; also of an index that cannot be read, which is then healed."""
        life, plan = self._runtime, self._plan or IndexPlan()
        if self._recovery_message and life.is_idle:
            self._recovery_message = ""
        try:
            status = life.get_status(plan, self._progress.pending_count)
        except StorageError as error:
            self.recover_from(error, life.store, 0.0)
            return RepositoryIndexStatus(
                "recovering", 0, 0, 0, {}, trouble=self._recovery_message or str(error)
            )
        return replace(status, trouble=status.trouble or self._recovery_message)

    def recover_from(
        self,
        error: BaseException,
        store: IndexStore,
        timeout_seconds: float = RECOVERY_TIMEOUT_SECONDS,
    ) -> bool:
        """Deal with what a search met in ``store``; whether there is another one to ask now.

        What the engines call damaged is rebuilt; after any other error the index is compared with
        its checksums, and rebuilt if it differs.
        """
        life = self._runtime
        if life.store is not store:
            return True
        if self._thread is None or store.writer is None or self._is_waiting:
            return False
        before = life.verification_count
        if isinstance(error, CatalogDamaged | LexicalIndexDamaged):
            life.fail(error)
        else:
            life.request_verification()
        deadline = time.monotonic() + timeout_seconds
        with self._replaced:
            while (
                self._runtime is life
                and life.verification_count == before
                and (left := deadline - time.monotonic()) > 0
            ):
                self._replaced.wait(min(left, RECOVERY_CHECK_INTERVAL_SECONDS))
        return self._runtime is not life

    def pause(self) -> None:
        """Let the work on the index stand still until ``resume``; changes are noted meanwhile."""
        self._pause.pause()
        self._runtime.wake()

    def resume(self) -> None:
        """Go on with what stood still and with what was noted."""
        self._pause.resume()
        self._runtime.wake()

    def close(self) -> None:
        """End the threads, then close the store; work under way stops at its next step."""
        self._cancel.cancel()
        self._progress.stop_reminders()
        self._runtime.stop()
        if self._thread is not None:
            self._thread.join()
        self._runtime.close()
        self._retired.close()

    def _run(self) -> None:
        failures = 0
        while not self._cancel.is_cancelled:
            try:
                self._run_once()
                continue
            except BaseException as error:
                failures += 1
                logger.exception("indexing %s failed", self._root)
                if failures > MAX_RESTARTS:
                    self._report_crash(error)
                    return
            try:
                self._restart()
            except KernelError as error:
                logger.exception("the index of %s cannot be opened again", self._root)
                self._report_crash(error)
                return

    def _run_once(self) -> None:
        """Follow the files until that ends; a damaged index is rebuilt."""
        if self._runtime.store.writer is None:
            self._wait_for_writer()
            return
        with self._lock:  # a plan that comes meanwhile must not be overtaken by this one
            if self._plan:
                self._runtime.reconfigure(self._plan)
        try:
            self._runtime.run()
        except IndexNeedsReopen as reason:
            logger.info("%s; its index is opened again", reason)
            self._restart()
        except (CatalogDamaged, LexicalIndexDamaged) as damage:
            self._rebuild(damage)

    def _rebuild(self, damage: StorageError) -> None:
        """Quarantine what is damaged, and rebuild it from the files.

        What is damaged again and again, before it has once been whole, is left alone for a while.
        """
        logger.warning("%s; it is rebuilt from the files", damage)
        self._rebuild_count = 1 if self._runtime.has_settled else self._rebuild_count + 1
        self._recovery_message = (
            f"{damage} What is damaged was moved aside, and is rebuilt from the files."
        )
        if self._rebuild_count > MAX_REBUILDS:
            self._recovery_message = (
                f"{damage} The index has been damaged {self._rebuild_count} times in a "
                "row: check the disk"
                f" that holds {self._folder}. It is rebuilt again in a minute."
            )
            self._is_waiting = True
            self._cancel.wait(FAULTY_DISK_WAIT_SECONDS)
            self._is_waiting = False
        self._restart(damage)

    def _report_crash(self, error: BaseException) -> None:
        for listener in list(self._subscribers.values()):
            listener.on_crash(error)

    def _wait_for_writer(self) -> None:
        """Read what another process keeps until it lets go of it, then be the one to keep it."""
        while not self._cancel.wait(WRITER_RETRY_INTERVAL_SECONDS):
            try:
                may_be_made = self._folder.is_dir() or self._runtime.read_only_state == "trouble"
                if may_be_made and (store := self._reopen_store()):
                    self._switch_store(store)
                    return
                self._runtime.error = ""
                self._runtime.read_only_state = "read-only"
            except StorageError as error:
                if str(error) != self._runtime.error:
                    logger.warning("the index of %s is only read: %s", self._root, error)
                self._runtime.error = str(error)

    def _reopen_store(self) -> IndexStore | None:
        """A store that can do more than the present one, if there is one by now."""
        store = open_index_to_write(self._folder)
        present = self._runtime.store
        # Nothing to read so far, or not as it is written now; or whoever keeps the index has found
        # it damaged and begun another.
        is_provisional = present.folder != self._folder or present.read_only_reason
        if store is None and (is_provisional or not present.is_current):
            store = open_index_to_read(self._folder)
        return store

    def _switch_store(self, store: IndexStore) -> None:
        """Searches under way end on the old store, so it is closed last."""
        logger.info("the index of %s is %s", self._root, "kept" if store.writer else "read")
        self._retired.callback(self._runtime.close)
        self._runtime = self._build_runtime(store)

    def _restart(self, damage: StorageError | None = None) -> None:
        if self._cancel.is_cancelled:
            return
        self._runtime.stop()
        self._runtime.close()
        life = self._open_runtime(damage)
        with self._replaced:
            self._runtime = life
            self._replaced.notify_all()

    def _open_runtime(self, damage: StorageError | None = None) -> IndexRuntime:
        try:
            life = self._build_runtime(open_index(self._folder, damage=damage))
            if life.store.quarantined and damage is None:
                names = ", ".join(path.name for path in life.store.quarantined)
                self._recovery_message = (
                    f"The index in {self._folder} was damaged: {names} was moved aside, and is"
                    " rebuilt from the files."
                )
        except IndexNotReady as reason:
            logger.warning("%s; it is looked at again every second", reason)
            life = self._build_runtime(self._retired.enter_context(open_empty_index()))
            life.error = str(reason)
        except StorageError as reason:
            life = self._open_empty_runtime(reason)
        if life.error:
            logger.warning("the index of %s waits: %s", self._root, life.error)
        elif life.store.writer is None:
            logger.warning("another codekernel keeps the index of %s", self._root)
        return life

    def _open_empty_runtime(self, reason: StorageError) -> IndexRuntime:
        """Nothing can be searched before the disk takes an index, which is tried every second.

        Raises ``reason`` if it is not the disk that refuses.
        """
        if not is_unwritable(self._folder):
            raise reason
        try:
            life = self._build_runtime(self._retired.enter_context(open_empty_index()))
        except StorageError:
            raise reason from None
        life.error, life.read_only_state = str(reason), "trouble"
        return life

    def _build_runtime(self, store: IndexStore) -> IndexRuntime:
        pace = WorkControl(CancelToken(), self.throttle, self._pause)
        return IndexRuntime(self._root, store, self._open_vector_index, self._progress, pace)

    def _open_vector_index(self, config: ConfigPlan, performance: "Performance") -> VectorIndex:
        from codekernel.indexing.model_vector_index import ModelVectorIndex  # noqa: PLC0415 - heavy

        arm = ModelVectorIndex(
            config, performance, self._get_model_pool(), self._runtime.store, self.throttle
        )
        self._recovery_message = arm.table.repair_message or self._recovery_message
        freeze_imported_objects()
        return arm

    def _report_progress(self, path: str, status: str, progress: float) -> None:
        with self._report_lock:
            for listener in list(self._subscribers.values()):
                listener.on_progress(path, status, progress)
