"""Search and call chains for the agent's tools; the index is opened at the first call."""

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from codekernel.callgraph.graph import LiveCallGraph
from codekernel.cli.folder_index import (
    OPENING_TIMEOUT_SECONDS,
    POLL_INTERVAL_SECONDS,
    FolderIndex,
    open_updated_index,
)
from codekernel.cli.model_selection import get_model_pool
from codekernel.domain.call_graph import CallChainQuery, CallChainResult
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit
from codekernel.errors import Cancelled
from codekernel.indexing.index_plan import IndexPlan
from codekernel.search.pipeline import Searcher


class AgentSearch:
    """Opens the index at the first call and waits for its words; vectors are used once complete."""

    def __init__(self, root: Path, folder: Path, plan: IndexPlan, cancel: CancelToken) -> None:
        self._root, self._folder, self._plan = root, folder, plan
        self._cancel = cancel
        self._resources = ExitStack()
        self._lock = threading.Lock()
        self._index: FolderIndex | None = None
        self._calls = LiveCallGraph(lambda: self._get_index().store)

    def search(self, query: str, limit: int) -> Sequence[Hit]:
        """Return the best hits. Raises Cancelled, StorageError."""
        index = self._get_index()
        searcher = Searcher(self._root, index.get_searchable(), None, index.throttle)
        return searcher.run_search(query, limit, self._cancel, accuracy=True).hits

    def find_calls(
        self, question: CallChainQuery, cancel: CancelToken, seconds: float
    ) -> CallChainResult:
        """Return callers or callees. Raises Cancelled, StorageError."""
        return self._calls.ask(question, cancel, seconds)

    def close(self) -> None:
        """Close the index, if it was opened."""
        self._resources.close()

    def _get_index(self) -> FolderIndex:
        with self._lock:
            self._index = self._index or self._open_index()
            return self._index

    def _open_index(self) -> FolderIndex:
        opened = open_updated_index(
            self._root, self._folder, self._plan, get_model_pool, self._wait_for_lexical
        )
        index = self._resources.enter_context(opened)
        self._resources.callback(self._calls.close)  # before the index goes
        return index

    def _wait_for_lexical(self, index: FolderIndex) -> None:
        index.start()
        waited = 0.0
        while not index.wait_for_lexical(POLL_INTERVAL_SECONDS):
            waited += POLL_INTERVAL_SECONDS
            if self._cancel.is_cancelled:
                raise Cancelled("the search was cancelled")
            if waited > OPENING_TIMEOUT_SECONDS:  # a large folder: search what is indexed so far
                return
