"""The threads on one repository's open store, from its opening to its closing."""

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.domain.courtesy import Pace
from kernel.domain.index_status import IndexStatus
from kernel.indexing.arm import OpenArm
from kernel.indexing.embedding import Embedding
from kernel.indexing.plan import IndexPlan
from kernel.indexing.progress import Progress
from kernel.storage.index_store import IndexStore

if TYPE_CHECKING:
    from kernel.indexing.following import Following

logger = logging.getLogger(__name__)

# Before the first walk, and for as long as another process keeps the index.
NOT_WATCHING = "not yet"
# Whoever opens a repository again asks its first question soon; following the files takes a tenth
# of a second of the same interpreter to import, and begins after this.
FIRST_QUESTION_SECONDS = 0.2


class IndexLife:
    """Follows the files if the store can be written; otherwise it is only there to be asked."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        open_arm: OpenArm,
        progress: Progress,
        pace: Pace,
    ) -> None:
        self.store = store
        self.trouble = store.refusal  # or why a store that others write cannot be read here
        self.state_without_writer = "trouble" if store.refusal else "read-only"
        self._root = root
        self._pace = pace
        self._cancel = pace.cancel
        self._failure: BaseException | None = None
        self._progress = progress
        self.embedding = Embedding(store, open_arm, progress, pace)
        self._plan: IndexPlan | None = None
        self._following: Following | None = None
        self._door = threading.Lock()
        self._embedder = threading.Thread(
            target=self._embed, name=f"embed:{root.name}", daemon=True
        )

    @property
    def idle(self) -> bool:
        """Whether the index agrees with the files, as far as is known."""
        following = self._following
        return following is not None and following.keeper.idle and self.embedding.idle

    @property
    def has_settled(self) -> bool:
        """Whether the index has agreed with the files since it was opened."""
        return self._following is not None and self._following.keeper.has_settled

    @property
    def verifications(self) -> int:
        """How often all of the index was compared with its checksums, and found to be right."""
        return self._following.keeper.verifications if self._following else 0

    def run(self) -> None:
        """Follow the files until stopped; raises what ended it otherwise."""
        if self.store.writer is None:
            raise AssertionError("only who writes the index follows the files")
        self._embedder.start()
        if self.store.catalogue.is_empty or not self._cancel.wait(FIRST_QUESTION_SECONDS):
            self._follow().run()
        if self._failure:
            raise self._failure

    def fail(self, error: BaseException) -> None:
        """End because of what a search has met; any thread."""
        self._failure = self._failure or error
        self.stop()

    def suspect(self) -> None:
        """Compare the index with its checksums soon; any thread."""
        if self._following:
            self._following.keeper.suspect()

    def reconfigure(self, plan: IndexPlan) -> None:
        """Take other settings, before ``run`` or while it runs."""
        with self._door:
            self._plan = plan
            if self._following:
                self._following.keeper.reconfigure(plan)

    def status(self, plan: IndexPlan, files_waiting: int) -> IndexStatus:
        """How far everything is."""
        files, chunks, _ = self.store.catalogue.counts()
        following = self._following
        keeper = following.keeper if following else None
        state = (
            keeper.state
            if keeper
            else "starting"
            if self.store.writer
            else self.state_without_writer
        )
        if state == "idle" and not self.embedding.idle:
            state = "embedding"
        paused = self._pace.pause.on
        if paused and keeper and keeper.stands and self.embedding.stands and not self.idle:
            state = "paused"
        return IndexStatus(
            state=state,
            files=files,
            chunks=chunks,
            files_waiting=files_waiting,
            refused=self.store.catalogue.refused_by_reason(),
            configs=self.embedding.statuses(plan, chunks, files),
            watching=following.watching if following else NOT_WATCHING,
            trouble=(keeper.trouble if keeper else self.trouble) or self.embedding.trouble,
            paused=paused,
        )

    def stop(self) -> None:
        """Ask the threads to end."""
        self._cancel.cancel()
        self._pace.pause.wake()
        self.wake()

    def wake(self) -> None:
        """Have the threads look at the pause now."""
        if self._following:
            self._following.keeper.wake()
        self.embedding.wake()

    def close(self) -> None:
        """Wait for the threads, then close the store."""
        if self._following:
            self._following.close()
        if self._embedder.ident is not None:
            self._embedder.join()
        self.store.close()

    def _follow(self) -> "Following":
        from kernel.indexing.following import Following  # noqa: PLC0415 - heavy

        following = Following(self._root, self.store, self.embedding, self._progress, self._pace)
        with self._door:  # a plan that comes meanwhile is not lost
            self._following = following
            if self._plan:
                following.keeper.reconfigure(self._plan)
        return following

    def _embed(self) -> None:
        try:
            self.embedding.run()
        except BaseException as error:  # noqa: BLE001 - the guard of this thread
            if not self._cancel.cancelled:
                self.fail(error)
