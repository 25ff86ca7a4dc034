"""Following the files of one repository: who watches them, and who keeps the index up to date.

Whoever opens a repository waits for none of this, and it is heavy to import.
"""

import logging
from pathlib import Path

from kernel.domain.courtesy import Pace
from kernel.indexing.embedding import Embedding
from kernel.indexing.keeper import Keeper
from kernel.indexing.progress import Progress
from kernel.storage.index_store import IndexStore
from kernel.walking.walk import Walk
from kernel.watching.watcher import Watcher

logger = logging.getLogger(__name__)


class Following:
    """A watcher that notices changes and a keeper that deals with them."""

    def __init__(
        self, root: Path, store: IndexStore, embedding: Embedding, progress: Progress, pace: Pace
    ) -> None:
        self._store = store
        self.keeper = Keeper(root, store, embedding, progress, pace)
        self.keeper.on_folders_differ = self._reconsider
        self._watched = Walk(root)  # the watcher asks it on a thread of its own
        self._watcher = Watcher(
            root,
            self.keeper.notice,
            on_trouble=lambda trouble: logger.warning("%s", trouble),
            skip_folder=self._watched.skips_folder,
        )

    @property
    def watching(self) -> str:
        """How changes are heard of."""
        return self._watcher.mode

    def run(self) -> None:
        """Follow the files until cancelled; raises what ended it otherwise."""
        self._watcher.start()
        if not self._store.catalogue.is_empty:
            self.keeper.wait_until_watched()
        self.keeper.run()

    def close(self) -> None:
        """Watch no more."""
        self._watcher.close()

    def _reconsider(self) -> None:
        self._watched.forget_rules()
        self._watcher.reconsider()
