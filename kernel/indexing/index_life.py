"""The threads on one repository's open store, from its opening to its closing."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.domain.cancel import CancelToken
from kernel.domain.courtesy import Courtesy, Pace
from kernel.domain.index_status import IndexStatus
from kernel.indexing.embedding import Arm, Embedding
from kernel.indexing.keeper import Keeper
from kernel.indexing.plan import ConfigPlan, IndexPlan
from kernel.indexing.progress import Progress
from kernel.storage.index_store import IndexStore
from kernel.walking.walk import Walk
from kernel.watching.watcher import Watcher

if TYPE_CHECKING:
    from kernel.domain.settings import Performance

logger = logging.getLogger(__name__)

# Before the first walk, and for as long as another process keeps the index.
NOT_WATCHING = "not yet"


class IndexLife:
    """Follows the files if the store can be written; otherwise it is only there to be asked."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        open_arm: Callable[[ConfigPlan, "Performance"], Arm],
        progress: Progress,
        courtesy: Courtesy,
    ) -> None:
        self.store = store
        self.trouble = ""  # why a store that others write cannot be written, or read, here
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
        """Whether the index agrees with the files, as far as is known."""
        return self._keeper is not None and self._keeper.idle and self.embedding.idle

    def run(self) -> None:
        """Follow the files until stopped; raises what ended it otherwise."""
        if self._keeper is None:
            raise AssertionError("only who writes the index follows the files")
        self._embedder.start()
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
        """Take other settings, before ``run`` or while it runs."""
        if self._keeper:
            self._keeper.reconfigure(plan)

    def status(self, plan: IndexPlan, files_waiting: int) -> IndexStatus:
        """How far everything is."""
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
            watching=self._watcher.mode if self._watcher else NOT_WATCHING,
            trouble=(keeper.trouble if keeper else self.trouble) or self.embedding.trouble,
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
