"""One folder with its index and its calls: opened on a thread of its own, so that nobody waits.

The index is the one that every codekernel keeps of this folder. If another process writes it, it is
read here, by words, until that process lets go of it.
"""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from kernel.agent.root import Root
from kernel.callgraph.current import CurrentCalls
from kernel.domain.call_chain import ChainAnswer, ChainQuestion
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.domain.index_status import IndexStatus
from kernel.doors.mcp.reaching import NOBODY_LISTENS, Report, said_of
from kernel.errors import KernelError, StorageError
from kernel.indexing.plan import IndexPlan
from kernel.indexing.progress import DONE
from kernel.indexing.repository_index import RepositoryIndex
from kernel.search.searcher import Judge, Searcher

# After its opening a first index has the words of a few thousand files by then; whoever asks later
# is answered at once, from a part.
FIRST_WORDS_SECONDS = 5.0
TICK_SECONDS = 0.1
# States of an index in which words may still be missing.
UNDER_WAY = frozenset({"starting", "recovering", "indexing"})


# An index and the plan to start it with; without one, somebody else starts it.
Opened = tuple[RepositoryIndex, IndexPlan | None]


class Repository:
    """What ``open_index`` raises, every question gets."""

    def __init__(
        self,
        root: Path,
        open_index: Callable[[], Opened],
        first_words_seconds: float = FIRST_WORDS_SECONDS,
    ) -> None:
        self.root = Root.at(root)
        self._patience = first_words_seconds
        self._first_until = 0.0
        self._folder = root
        self._given_up: BaseException | None = None
        self._had_words = False
        self._begun = self._done = 0
        self._calls = CurrentCalls(lambda: self.index.store)
        # Last, for it sets what stands above.
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="open")
        self._opening: Future[RepositoryIndex] = pool.submit(self._opened, open_index)
        pool.shutdown(wait=False)

    @property
    def index(self) -> RepositoryIndex:
        """The index, once it is open. Raises KernelError."""
        try:
            return self._opening.result()
        except CancelledError:
            raise StorageError("codekernel is ending") from None

    def found(
        self, query: str, limit: int, cancel: CancelToken, judge: Judge | None = None
    ) -> list[Hit]:
        """The best places for a query. Raises WrongParam, Cancelled."""
        searcher = Searcher(self._folder, self.index, judge, self.index.courtesy)
        return searcher.found(query, limit, cancel, accuracy=True).hits

    def calls(self, question: ChainQuestion, cancel: CancelToken, seconds: float) -> ChainAnswer:
        """Who calls what."""
        return self._calls.ask(question, cancel, seconds)

    def status(self) -> IndexStatus:
        """How far the index is."""
        return self.index.status()

    def wait_for_words(self, cancel: CancelToken, report: Report = NOBODY_LISTENS) -> None:
        """While a first index is very young, wait a moment for the words of all files."""
        self._wait(lambda status: status.state not in UNDER_WAY, cancel, report)

    def wait_for_all(self, cancel: CancelToken, seconds: float, report: Report) -> None:
        """Wait until words and vectors are complete, or something stands in the way."""
        done = {"idle", "trouble", "read-only", "paused"}
        self._wait(lambda status: status.state in done, cancel, report, seconds)

    def remark(self, *, meaning: bool = True) -> str:
        """What of the index an answer had to do without; nothing if it had everything."""
        if self._given_up is not None:
            return f"Indexing was given up, so what has changed since is missing: {self._given_up}"
        index = self.index
        if index.idle:
            self._had_words = True
            return ""
        return said_of(index.status(), meaning=meaning, is_first=not self._had_words)

    def close(self) -> None:
        """Let go of the index; what is under way ends at its next step."""
        self._opening.cancel()
        self._calls.close()
        with suppress(KernelError, CancelledError):
            self._opening.result().close()

    def _opened(self, open_index: Callable[[], Opened]) -> RepositoryIndex:
        index, plan = open_index()
        self._first_until = time.monotonic() + self._patience
        self._had_words = not index.store.catalogue.is_empty
        index.subscribe(self._heard, self._crashed)
        if plan:
            index.start(plan)
        return index

    def _heard(self, _path: str, status: str, progress: float) -> None:
        """Count the files that are begun and done, of a first index or of what has changed."""
        if status == DONE:
            self._done += 1
        elif progress == 0:
            self._begun += 1

    def _crashed(self, error: BaseException) -> None:
        self._given_up = error

    def _wait(
        self,
        is_there: Callable[[IndexStatus], bool],
        cancel: CancelToken,
        report: Report,
        seconds: float | None = None,
    ) -> None:
        index = self.index
        if self._had_words and seconds is None:
            return
        until = self._first_until if seconds is None else time.monotonic() + seconds
        while self._given_up is None and not is_there(status := index.status()):
            # A file counts once when its words are there and once when its vectors are.
            words = self._done if self._had_words else status.files
            report((words + self._done) / 2, float(self._begun) or None, said_of(status))
            if time.monotonic() > until or cancel.wait(TICK_SECONDS):
                return
        self._had_words = True
