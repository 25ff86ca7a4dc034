"""Our ranked search and our call chains for an agent: the index is opened when first asked."""

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from kernel.callgraph.current import CurrentCalls
from kernel.cli.search import up_to_date
from kernel.cli.search_index import FolderIndex
from kernel.cli.search_models import shelf
from kernel.cli.search_waiting import OPENING_SECONDS, TICK_SECONDS
from kernel.domain.call_chain import ChainAnswer, ChainQuestion
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
        self._calls = CurrentCalls(lambda: self._there().store)

    def __call__(self, query: str, limit: int) -> Sequence[Hit]:
        """The best places. Raises Cancelled, StorageError."""
        index = self._there()
        searcher = Searcher(self._root, index.searchable(), None, index.courtesy)
        return searcher.found(query, limit, self._cancel, accuracy=True).hits

    def calls(self, question: ChainQuestion, cancel: CancelToken, seconds: float) -> ChainAnswer:
        """Who calls what. Raises Cancelled, StorageError."""
        return self._calls.ask(question, cancel, seconds)

    def close(self) -> None:
        """Let the index go."""
        self._held.close()

    def _there(self) -> FolderIndex:
        with self._lock:
            self._index = self._index or self._opened()
            return self._index

    def _opened(self) -> FolderIndex:
        opened = up_to_date(self._root, self._folder, self._plan, shelf, self._wait)
        index = self._held.enter_context(opened)
        self._held.callback(self._calls.close)  # before the index goes
        return index

    def _wait(self, index: FolderIndex) -> None:
        index.start()
        waited = 0.0
        while not index.words_done(TICK_SECONDS):
            waited += TICK_SECONDS
            if self._cancel.cancelled:
                raise Cancelled("the search was cancelled")
            if waited > OPENING_SECONDS:  # a very large folder: what is indexed so far is searched
                return
