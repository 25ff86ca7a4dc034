"""The call graph of whatever store an open repository has now: it is another after a rebuild."""

import threading
from collections.abc import Callable

from kernel.callgraph.graph import CallGraph
from kernel.domain.call_chain import ChainAnswer, ChainQuestion
from kernel.domain.cancel import CancelToken
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.index_store import IndexStore


class CurrentCalls:
    """Opens the graph when it is first asked; ``ask`` is what a tool's context takes."""

    def __init__(self, store: Callable[[], IndexStore]) -> None:
        self._store = store
        self._opened: tuple[IndexStore, CallGraph] | None = None
        self._door = threading.Lock()

    def ask(self, question: ChainQuestion, cancel: CancelToken, seconds: float) -> ChainAnswer:
        """Answer from the store there is now; a damaged graph is thrown away and read anew."""
        try:
            return self._graph().ask(question, cancel, seconds)
        except CatalogueDamaged:
            self.close()
            return self._graph().ask(question, cancel, seconds)

    def close(self) -> None:
        """Let go of the graph; the next question opens it again."""
        with self._door:
            if self._opened:
                self._opened[1].close()
            self._opened = None

    def _graph(self) -> CallGraph:
        store = self._store()
        with self._door:
            if self._opened and self._opened[0] is not store:
                self._opened[1].close()
                self._opened = None
            if self._opened is None:
                self._opened = store, CallGraph(store.folder, store.catalogue)
            return self._opened[1]
