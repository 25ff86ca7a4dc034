"""The index of one open repository: its store, its threads, and who is told what they do."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.domain.cancel import CancelToken
from kernel.domain.courtesy import Courtesy, Pace
from kernel.domain.garbage import keep_what_is_imported
from kernel.domain.index_status import IndexStatus
from kernel.domain.pause import Pause
from kernel.errors import KernelError, StorageError
from kernel.indexing.arm import Arm
from kernel.indexing.index_life import IndexLife
from kernel.indexing.plan import ConfigPlan, IndexPlan
from kernel.indexing.progress import EMBEDDING, Progress, Report
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.failures import takes_nothing
from kernel.storage.index_store import (
    IndexNotThere,
    IndexStore,
    IndexToReopen,
    empty_index,
    open_index,
    open_to_read,
    open_to_write,
)
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.storage.native_memory import share_arenas

if TYPE_CHECKING:  # importing it costs a third of a second, and openRepo waits for this module
    from kernel.domain.settings import Performance
    from kernel.inference.shelf import Shelf

logger = logging.getLogger(__name__)

# An index that another process keeps is tried again so often; it costs the opening of a file.
RETRY_SECONDS = 1.0
# What is damaged so often without having been whole in between is left alone for so long.
MAX_HEALS = 3
FAULTY_DISK_SECONDS = 60.0
# For so long a search waits for a damaged index to be replaced by an empty one that grows.
HEALED_WITHIN_SECONDS = 5.0
LOOK_SECONDS = 0.02
# After so many unexpected failures indexing is given up and the sessions are told.
MOST_RESTARTS = 3

Crashed = Callable[[BaseException], None]


@dataclass(frozen=True, slots=True)
class _Listener:
    report: Report
    crashed: Crashed


class RepositoryIndex:
    """Opened by the first window on a repository, closed by the last."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        shelf: "Callable[[], Shelf]",
        courtesy: Courtesy | None = None,
    ) -> None:
        """Open what there is; raises StorageError. Nothing runs before ``start``.

        If another process keeps the index, it is read here, and kept once that process lets go.
        """
        share_arenas()
        self._root = root
        self._folder = folder
        self._shelf = shelf
        self.courtesy = courtesy or Courtesy()
        self._plan: IndexPlan | None = None
        self._listeners: dict[object, _Listener] = {}
        self._cancel = CancelToken()
        self._pause = Pause()
        self._progress = Progress(self._tell)
        self._door = threading.Lock()
        self._retired = ExitStack()
        self._telling = threading.RLock()
        self._thread: threading.Thread | None = None
        self._replaced = threading.Condition()
        self._heals = 0
        self._healing = ""
        self._is_waiting = False
        self._life = self._open()

    @property
    def store(self) -> IndexStore:
        """What is searched; another one after a damaged index was rebuilt."""
        return self._life.store

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The embedding configs that can be searched now."""
        return self._life.embedding.arms

    @property
    def idle(self) -> bool:
        """Whether the index agrees with the files, as far as is known."""
        return self._life.idle

    def start(self, plan: IndexPlan) -> None:
        """Begin to follow the files; a second call changes nothing.

        A plan that ``reconfigure`` has brought is newer than this one, and stays.
        """
        with self._door:
            if self._thread is not None:
                return
            self._plan = self._plan or plan
            self._thread = threading.Thread(target=self._run, name=f"index:{self._root.name}")
            self._thread.daemon = True
            self._thread.start()
            threading.Thread(
                target=self._progress.keep_reminding,
                args=(self._cancel, lambda: self._pause.on),
                name=f"progress:{self._root.name}",
                daemon=True,
            ).start()

    def reconfigure(self, plan: IndexPlan) -> None:
        """Take other settings, without a pause in searching."""
        with self._door:
            self._plan = plan
            self._life.reconfigure(plan)

    def subscribe(self, report: Report, crashed: Crashed) -> Callable[[], None]:
        """Have ``report`` called with each file's progress, beginning with those under way.

        ``crashed`` is called if indexing has been given up. Returns the way out.
        """
        token = object()
        with self._telling:  # nothing is told between what is under way and what follows
            for path, reached in self._progress.snapshot():
                report(path, EMBEDDING, reached)
            self._listeners[token] = _Listener(report, crashed)

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe

    def status(self) -> IndexStatus:
        """How far everything is; also of an index that cannot be read, which is then healed."""
        life, plan = self._life, self._plan or IndexPlan()
        if self._healing and life.idle:
            self._healing = ""
        try:
            status = life.status(plan, self._progress.under_way)
        except StorageError as error:
            self.recover_from(error, life.store, 0.0)
            return IndexStatus("recovering", 0, 0, 0, {}, trouble=self._healing or str(error))
        return replace(status, trouble=status.trouble or self._healing)

    def recover_from(
        self, error: BaseException, store: IndexStore, seconds: float = HEALED_WITHIN_SECONDS
    ) -> bool:
        """Deal with what a search met in ``store``; whether there is another one to ask now.

        What the engines call damaged is rebuilt; after any other error the index is compared with
        its checksums, and rebuilt if it differs.
        """
        life = self._life
        if life.store is not store:
            return True
        if self._thread is None or store.writer is None or self._is_waiting:
            return False
        before = life.verifications
        if isinstance(error, CatalogueDamaged | IndexUnreadable):
            life.fail(error)
        else:
            life.suspect()
        deadline = time.monotonic() + seconds
        with self._replaced:
            while (
                self._life is life
                and life.verifications == before
                and (left := deadline - time.monotonic()) > 0
            ):
                self._replaced.wait(min(left, LOOK_SECONDS))
        return self._life is not life

    def pause(self) -> None:
        """Let the work on the index stand still until ``resume``; changes are noted meanwhile."""
        self._pause.begin()
        self._life.wake()

    def resume(self) -> None:
        """Go on with what stood still and with what was noted."""
        self._pause.lift()
        self._life.wake()

    def close(self) -> None:
        """End the threads, then close the store; work under way stops at its next step."""
        self._cancel.cancel()
        self._progress.stop_reminding()
        self._life.stop()
        if self._thread is not None:
            self._thread.join()
        self._life.close()
        self._retired.close()

    def _run(self) -> None:
        failures = 0
        while not self._cancel.cancelled:
            try:
                self._live_once()
                continue
            except BaseException as error:
                failures += 1
                logger.exception("indexing %s failed", self._root)
                if failures > MOST_RESTARTS:
                    self._give_up(error)
                    return
            try:
                self._begin_again()
            except KernelError as error:
                logger.exception("the index of %s cannot be opened again", self._root)
                self._give_up(error)
                return

    def _live_once(self) -> None:
        """Follow the files until that ends; a damaged index is rebuilt."""
        if self._life.store.writer is None:
            self._wait_to_write()
            return
        with self._door:  # a plan that comes meanwhile must not be overtaken by this one
            if self._plan:
                self._life.reconfigure(self._plan)
        try:
            self._life.run()
        except IndexToReopen as reason:
            logger.info("%s; its index is opened again", reason)
            self._begin_again()
        except (CatalogueDamaged, IndexUnreadable) as damage:
            self._heal(damage)

    def _heal(self, damage: StorageError) -> None:
        """Quarantine what is damaged, and rebuild it from the files.

        What is damaged again and again, before it has once been whole, is left alone for a while.
        """
        logger.warning("%s; it is rebuilt from the files", damage)
        self._heals = 1 if self._life.has_settled else self._heals + 1
        self._healing = f"{damage} What is damaged was moved aside, and is rebuilt from the files."
        if self._heals > MAX_HEALS:
            self._healing = (
                f"{damage} The index has been damaged {self._heals} times in a row: check the disk"
                f" that holds {self._folder}. It is rebuilt again in a minute."
            )
            self._is_waiting = True
            self._cancel.wait(FAULTY_DISK_SECONDS)
            self._is_waiting = False
        self._begin_again(damage)

    def _give_up(self, error: BaseException) -> None:
        for listener in list(self._listeners.values()):
            listener.crashed(error)

    def _wait_to_write(self) -> None:
        """Read what another process keeps until it lets go of it, then be the one to keep it."""
        while not self._cancel.wait(RETRY_SECONDS):
            try:
                may_be_made = self._folder.is_dir() or self._life.state_without_writer == "trouble"
                if may_be_made and (store := self._opened_anew()):
                    self._go_on_with(store)
                    return
                self._life.trouble = ""
                self._life.state_without_writer = "read-only"
            except StorageError as error:
                if str(error) != self._life.trouble:
                    logger.warning("the index of %s is only read: %s", self._root, error)
                self._life.trouble = str(error)

    def _opened_anew(self) -> IndexStore | None:
        """A store that can do more than the present one, if there is one by now."""
        store = open_to_write(self._folder)
        present = self._life.store
        # Nothing to read so far, or not as it is written now; or whoever keeps the index has found
        # it damaged and begun another.
        is_provisional = present.folder != self._folder or present.refusal
        if store is None and (is_provisional or not present.is_current):
            store = open_to_read(self._folder)
        return store

    def _go_on_with(self, store: IndexStore) -> None:
        """Searches under way end on the old store, so it is closed last."""
        logger.info("the index of %s is %s", self._root, "kept" if store.writer else "read")
        self._retired.callback(self._life.close)
        self._life = self._life_on(store)

    def _begin_again(self, damage: StorageError | None = None) -> None:
        if self._cancel.cancelled:
            return
        self._life.stop()
        self._life.close()
        life = self._open(damage)
        with self._replaced:
            self._life = life
            self._replaced.notify_all()

    def _open(self, damage: StorageError | None = None) -> IndexLife:
        try:
            life = self._life_on(open_index(self._folder, damage=damage))
            if life.store.moved and damage is None:
                names = ", ".join(path.name for path in life.store.moved)
                self._healing = (
                    f"The index in {self._folder} was damaged: {names} was moved aside, and is"
                    " rebuilt from the files."
                )
        except IndexNotThere as reason:
            logger.warning("%s; it is looked at again every second", reason)
            life = self._life_on(self._retired.enter_context(empty_index()))
            life.trouble = str(reason)
        except StorageError as reason:
            life = self._without_index(reason)
        if life.trouble:
            logger.warning("the index of %s waits: %s", self._root, life.trouble)
        elif life.store.writer is None:
            logger.warning("another codekernel keeps the index of %s", self._root)
        return life

    def _without_index(self, reason: StorageError) -> IndexLife:
        """Nothing can be searched before the disk takes an index, which is tried every second.

        Raises ``reason`` if it is not the disk that refuses.
        """
        if not takes_nothing(self._folder):
            raise reason
        try:
            life = self._life_on(self._retired.enter_context(empty_index()))
        except StorageError:
            raise reason from None
        life.trouble, life.state_without_writer = str(reason), "trouble"
        return life

    def _life_on(self, store: IndexStore) -> IndexLife:
        pace = Pace(CancelToken(), self.courtesy, self._pause)
        return IndexLife(self._root, store, self._open_arm, self._progress, pace)

    def _open_arm(self, config: ConfigPlan, performance: "Performance") -> Arm:
        from kernel.indexing.vector_arm import VectorArm  # noqa: PLC0415 - heavy

        arm = VectorArm(config, performance, self._shelf(), self._life.store, self.courtesy)
        self._healing = arm.table.repaired or self._healing
        keep_what_is_imported()
        return arm

    def _tell(self, path: str, status: str, progress: float) -> None:
        with self._telling:
            for listener in list(self._listeners.values()):
                listener.report(path, status, progress)
