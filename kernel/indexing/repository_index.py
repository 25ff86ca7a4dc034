"""The index of one open repository: its store, its threads, and who is told what they do."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.domain.cancel import CancelToken
from kernel.domain.courtesy import Courtesy, Pace
from kernel.domain.index_status import IndexStatus
from kernel.errors import KernelError
from kernel.indexing.embedding import Arm, Embedding
from kernel.indexing.keeper import Keeper
from kernel.indexing.plan import ConfigPlan, IndexPlan
from kernel.indexing.progress import EMBEDDING, Progress, Report
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.index_store import IndexStore, open_index
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.walking.walk import Walk
from kernel.watching.watcher import Watcher

if TYPE_CHECKING:  # importing it costs a third of a second, and openRepo waits for this module
    from kernel.domain.settings import Performance
    from kernel.inference.shelf import Shelf

logger = logging.getLogger(__name__)

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
        """Open what there is; raises StorageError. Nothing runs before ``start``."""
        self._root = root
        self._folder = folder
        self._shelf = shelf
        self.courtesy = courtesy or Courtesy()
        self._plan = IndexPlan()
        self._listeners: dict[object, _Listener] = {}
        self._cancel = CancelToken()
        self._progress = Progress(self._tell)
        self._door = threading.Lock()
        self._telling = threading.RLock()
        self._thread: threading.Thread | None = None
        self._life = _Life(root, open_index(folder), self._open_arm, self._progress, self.courtesy)

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
        """Begin to follow the files; a second call changes nothing."""
        with self._door:
            if self._thread is not None:
                return
            self._plan = plan
            self._thread = threading.Thread(target=self._run, name=f"index:{self._root.name}")
            self._thread.daemon = True
            self._thread.start()

    def reconfigure(self, plan: IndexPlan) -> None:
        """Take other settings, without a pause in searching."""
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
        """How far everything is."""
        return self._life.status(self._plan, self._progress.under_way)

    def close(self) -> None:
        """End the threads, then close the store; work under way stops at its next step."""
        self._cancel.cancel()
        self._life.stop()
        if self._thread is not None:
            self._thread.join()
        self._life.close()

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
                self._begin_again(set_aside=False)
            except KernelError as error:
                logger.exception("the index of %s cannot be opened again", self._root)
                self._give_up(error)
                return

    def _live_once(self) -> None:
        """Follow the files until that ends; a damaged index is rebuilt."""
        try:
            self._life.run(self._plan)
        except (CatalogueDamaged, IndexUnreadable) as damage:
            logger.warning("%s; the index is rebuilt from the files", damage)
            self._begin_again(set_aside=True)

    def _give_up(self, error: BaseException) -> None:
        for listener in list(self._listeners.values()):
            listener.crashed(error)

    def _begin_again(self, *, set_aside: bool) -> None:
        if self._cancel.cancelled:
            return
        self._life.stop()
        self._life.close()
        store = open_index(self._folder, set_aside=set_aside)
        self._life = _Life(self._root, store, self._open_arm, self._progress, self.courtesy)

    def _open_arm(self, config: ConfigPlan, performance: "Performance") -> Arm:
        from kernel.indexing.vector_arm import VectorArm  # noqa: PLC0415 - heavy

        return VectorArm(config, performance, self._shelf(), self._life.store, self.courtesy)

    def _tell(self, path: str, status: str, progress: float) -> None:
        with self._telling:
            for listener in list(self._listeners.values()):
                listener.report(path, status, progress)


class _Life:
    """The threads on one store, from its opening to its closing."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        open_arm: Callable[[ConfigPlan, "Performance"], Arm],
        progress: Progress,
        courtesy: Courtesy,
    ) -> None:
        self.store = store
        self._root = root
        self._cancel = CancelToken()
        self._failure: BaseException | None = None
        self.embedding = Embedding(store, open_arm, progress, self._cancel)
        self._keeper = (
            Keeper(root, store, self.embedding, progress, Pace(self._cancel, courtesy))
            if store.writer
            else None
        )
        self._watched = Walk(root)  # the watcher asks it on a thread of its own
        self._watcher: Watcher | None = None
        self._embedder = threading.Thread(
            target=self._embed, name=f"embed:{root.name}", daemon=True
        )

    @property
    def idle(self) -> bool:
        return self._keeper is not None and self._keeper.idle and self.embedding.idle

    def run(self, plan: IndexPlan) -> None:
        """Follow the files until stopped; raises what ended it otherwise."""
        if self._keeper is None:  # another process keeps this index; ours only reads it
            self._cancel.wait(threading.TIMEOUT_MAX)
            return
        self._embedder.start()
        self._keeper.reconfigure(plan)
        self._watcher = Watcher(
            self._root,
            self._keeper.notice,
            on_trouble=lambda trouble: logger.warning("%s", trouble),
            skip_folder=self._watched.skips_folder,
        )
        self._keeper.on_folders_differ = self._reconsider
        self._watcher.start()
        self._keeper.run()
        if self._failure:
            raise self._failure

    def reconfigure(self, plan: IndexPlan) -> None:
        if self._keeper:
            self._keeper.reconfigure(plan)

    def status(self, plan: IndexPlan, files_waiting: int) -> IndexStatus:
        files, chunks, _ = self.store.catalogue.counts()
        keeper = self._keeper
        state = keeper.state if keeper else "read-only"
        if state == "idle" and not self.embedding.idle:
            state = "embedding"
        return IndexStatus(
            state=state,
            files=files,
            chunks=chunks,
            files_waiting=files_waiting,
            refused=self.store.catalogue.refused_by_reason(),
            configs=self.embedding.statuses(plan, chunks, files),
            watching=self._watcher.mode if self._watcher else "",
            trouble=(keeper.trouble if keeper else "") or self.embedding.trouble,
        )

    def stop(self) -> None:
        """Ask the threads to end."""
        self._cancel.cancel()
        if self._keeper:
            self._keeper.wake()
        self.embedding.wake()

    def close(self) -> None:
        """Wait for the threads, then close the store."""
        if self._watcher:
            self._watcher.close()
        if self._embedder.ident is not None:
            self._embedder.join()
        self.store.close()

    def _reconsider(self) -> None:
        self._watched.forget_rules()
        if self._watcher:
            self._watcher.reconsider()

    def _embed(self) -> None:
        try:
            self.embedding.run()
        except BaseException as error:  # noqa: BLE001 - the guard of this thread
            if not self._cancel.cancelled:
                self._failure = error
                self.stop()
