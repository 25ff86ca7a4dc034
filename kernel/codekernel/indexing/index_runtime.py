"""The threads on one opened index store, from opening to closing.

The index worker with its file watcher, and the embed worker.
"""

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.domain.concurrency import WorkControl
from codekernel.domain.index import RepositoryIndexStatus
from codekernel.indexing.embed_worker import EmbedWorker
from codekernel.indexing.index_plan import IndexPlan, OpenVectorIndex
from codekernel.indexing.progress import ProgressTracker
from codekernel.storage.index_store import IndexStore

if TYPE_CHECKING:
    from codekernel.indexing.index_worker import FileFollower

logger = logging.getLogger(__name__)

# Before the first walk, and for as long as another process keeps the index.
NOT_WATCHING = "not yet"

# Whoever opens a repository again asks its first question soon; following the files takes a tenth
# of a second of the same interpreter to import, and begins after this.
START_DELAY_SECONDS = 0.2


class IndexRuntime:
    """Follows the files if the store can be written; otherwise it is only there to be asked."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        open_vector_index: OpenVectorIndex,
        progress: ProgressTracker,
        control: WorkControl,
    ) -> None:
        self.store = store
        self.error = store.read_only_reason  # or why a store that others write cannot be read here
        self.read_only_state = "trouble" if store.read_only_reason else "read-only"
        self._root = root
        self._control = control
        self._cancel = control.cancel
        self._failure: BaseException | None = None
        self._progress = progress
        self.embed_worker = EmbedWorker(store, open_vector_index, progress, control)
        self._plan: IndexPlan | None = None
        self._follower: FileFollower | None = None
        self._lock = threading.Lock()
        self._embed_thread = threading.Thread(
            target=self._run_embed_worker, name=f"embed:{root.name}", daemon=True
        )

    @property
    def is_idle(self) -> bool:
        """Whether the index agrees with the files, as far as is known."""
        following = self._follower
        return (
            following is not None and following.index_worker.is_idle and self.embed_worker.is_idle
        )

    @property
    def has_settled(self) -> bool:
        """Whether the index has agreed with the files since it was opened."""
        return self._follower is not None and self._follower.index_worker.has_settled

    @property
    def verification_count(self) -> int:
        """How often all of the index was compared with its checksums, and found to be right."""
        return self._follower.index_worker.verification_count if self._follower else 0

    def run(self) -> None:
        """Follow the files until stopped; raises what ended it otherwise."""
        if self.store.writer is None:
            raise AssertionError("only who writes the index follows the files")
        self._embed_thread.start()
        if self.store.catalog.is_empty or not self._cancel.wait(START_DELAY_SECONDS):
            self._create_follower().run()
        if self._failure:
            raise self._failure

    def fail(self, error: BaseException) -> None:
        """End because of what a search has met; any thread."""
        self._failure = self._failure or error
        self.stop()

    def request_verification(self) -> None:
        """Compare the index with its checksums soon; any thread."""
        if self._follower:
            self._follower.index_worker.request_verification()

    def reconfigure(self, plan: IndexPlan) -> None:
        """Take other settings, before ``run`` or while it runs."""
        with self._lock:
            self._plan = plan
            if self._follower:
                self._follower.index_worker.reconfigure(plan)

    def get_status(self, plan: IndexPlan, files_waiting: int) -> RepositoryIndexStatus:
        """How far everything is."""
        files, chunks, _ = self.store.catalog.count_contents()
        following = self._follower
        keeper = following.index_worker if following else None
        state = (
            keeper.state if keeper else "starting" if self.store.writer else self.read_only_state
        )
        if state == "idle" and not self.embed_worker.is_idle:
            state = "embedding"
        paused = self._control.pause.is_paused
        if (
            paused
            and keeper
            and keeper.is_standing_still
            and self.embed_worker.is_standing_still
            and not self.is_idle
        ):
            state = "paused"
        return RepositoryIndexStatus(
            state=state,
            files=files,
            chunks=chunks,
            files_waiting=files_waiting,
            refused=self.store.catalog.count_skipped_by_reason(),
            configs=self.embed_worker.list_statuses(plan, chunks, files),
            watching=following.watch_mode if following else NOT_WATCHING,
            trouble=(keeper.error if keeper else self.error) or self.embed_worker.error,
            paused=paused,
        )

    def stop(self) -> None:
        """Ask the threads to end."""
        self._cancel.cancel()
        self._control.pause.wake_waiters()
        self.wake()

    def wake(self) -> None:
        """Have the threads look at the pause now."""
        if self._follower:
            self._follower.index_worker.wake()
        self.embed_worker.wake()

    def close(self) -> None:
        """Wait for the threads, then close the store."""
        if self._follower:
            self._follower.close()
        if self._embed_thread.ident is not None:
            self._embed_thread.join()
        self.store.close()

    def _create_follower(self) -> "FileFollower":
        from codekernel.indexing.index_worker import FileFollower  # noqa: PLC0415 - heavy

        following = FileFollower(
            self._root, self.store, self.embed_worker, self._progress, self._control
        )
        with self._lock:  # a plan that comes meanwhile is not lost
            self._follower = following
            if self._plan:
                following.index_worker.reconfigure(self._plan)
        return following

    def _run_embed_worker(self) -> None:
        try:
            self.embed_worker.run()
        except BaseException as error:  # noqa: BLE001 - the guard of this thread
            if not self._cancel.is_cancelled:
                self.fail(error)
