"""Our ranked search for an agent: the index is opened when the agent first asks for it."""

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from kernel.cli.search import up_to_date
from kernel.cli.search_index import FolderIndex
from kernel.cli.search_models import shelf
from kernel.cli.search_waiting import OPENING_SECONDS, TICK_SECONDS
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.errors import Cancelled
from kernel.indexing.plan import IndexPlan
from kernel.search.searcher import Searcher


class AgentSearch:
    """Waits for words at the first question; meaning joins when it is there."""

    def __init__(self, root: Path, folder: Path, plan: IndexPlan, cancel: CancelToken) -> None:
        self._root, self._folder, self._plan = root, folder, plan
        self._cancel = cancel
        self._held = ExitStack()
        self._lock = threading.Lock()
        self._index: FolderIndex | None = None

    def __call__(self, query: str, limit: int) -> Sequence[Hit]:
        """The best places. Raises Cancelled, StorageError."""
        with self._lock:
            index = self._index = self._index or self._opened()
        searcher = Searcher(self._root, index.searchable(), None, index.courtesy)
        return searcher.found(query, limit, self._cancel, accuracy=False).hits

    def close(self) -> None:
        """Let the index go."""
        self._held.close()

    def _opened(self) -> FolderIndex:
        opened = up_to_date(self._root, self._folder, self._plan, shelf, self._wait)
        return self._held.enter_context(opened)

    def _wait(self, index: FolderIndex) -> None:
        index.start()
        waited = 0.0
        while not index.words_done(TICK_SECONDS):
            waited += TICK_SECONDS
            if self._cancel.cancelled:
                raise Cancelled("the search was cancelled")
            if waited > OPENING_SECONDS:  # a very large folder: what is indexed so far is searched
                return
