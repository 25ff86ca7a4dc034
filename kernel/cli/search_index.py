"""The index of one folder for one search: brought up to date on two threads, then let go.

No watching and no waiting for changes: that is ``indexing/repository_index.py``, for a folder that
stays open. Both keep the same index in the same way.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.cli.search_progress import Reached
from kernel.domain.cancel import CancelToken
from kernel.domain.courtesy import Courtesy, Pace
from kernel.domain.index_status import ConfigStatus
from kernel.domain.settings import Performance
from kernel.errors import StorageError
from kernel.indexing.arm import Arm
from kernel.indexing.embedding import Embedding
from kernel.indexing.indexer import Indexer
from kernel.indexing.plan import ConfigPlan, IndexPlan
from kernel.indexing.progress import DONE, Progress
from kernel.storage.index_store import IndexNotThere, IndexStore, open_index

if TYPE_CHECKING:  # costs a third of a second, and a search by words does not need it
    from kernel.inference.shelf import Shelf

# A config whose vectors are nearly complete is asked; one that lacks more of them would favour
# the files that have theirs.
COMPLETE_SHARE = 0.9
# What is under way when the search is over is given up at its next step; a group of texts takes
# less than this. Nothing is lost if it does not: what is on disk is whole at every moment.
END_WITHIN_SECONDS = 0.5
# Another process that has just begun an index has something to read after some milliseconds, or
# after seconds beside a busy machine.
READABLE_WITHIN_SECONDS = 10.0
_TICK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Searchable:
    """What a searcher asks."""

    store: IndexStore
    arms: tuple[Arm, ...]


class FolderIndex:
    """Opened, brought up to date as far as the search can wait, searched and closed."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        plan: IndexPlan,
        shelf: "Callable[[], Shelf] | None",
        *,
        damage: StorageError | None = None,
    ) -> None:
        """Open what there is; raises StorageError. Without a shelf, words alone are indexed."""
        self._plan = plan
        self._shelf = shelf
        self._cancel = CancelToken()
        self.courtesy = Courtesy()
        self._lock = threading.Lock()
        self._begun = self._read = self._done = self._chunks = 0
        self._progress = Progress(self._heard)
        self.store = _opened(folder, damage)
        self.read_only = self.store.writer is None
        pace = Pace(self._cancel, self.courtesy)
        self.embedding = Embedding(self.store, self._open_arm, self._progress, pace)
        self._indexer = None if self.read_only else Indexer(root, self.store, self, pace)
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="search")
        self._work: list[Future[None]] = []

    def start(self) -> None:
        """Begin to compare the index with the files."""
        if self._indexer is None:
            return
        if self._shelf:  # before the words, which may be done at once and then say so
            self.embedding.reconfigure(self._plan)
            self.embedding.expect(files=False)  # who searches here waits for both: models open now
        self._work.append(self._pool.submit(self._index_words, self._indexer))
        if self._shelf:
            self._work.append(self._pool.submit(self.embedding.run))

    def words_done(self, patience_seconds: float) -> bool:
        """Whether every word is indexed, after some time at the most; raises what went wrong."""
        done, _ = wait(self._work[:1], patience_seconds)
        for work in done:
            work.result()
        return len(done) == len(self._work[:1])

    @property
    def vectors_done(self) -> bool:
        """Whether nothing is left to wait for; raises what went wrong."""
        for work in self._work[1:]:
            if work.done():
                work.result()
        return self.read_only or self._shelf is None or self.embedding.idle

    @property
    def reached(self) -> Reached:
        """How far everything is."""
        with self._lock:
            share = (self._read + self._done) / 2 / self._begun if self._begun else 0.0
            return Reached(self._read, self._begun, self._chunks, share)

    def statuses(self) -> tuple[ConfigStatus, ...]:
        """How far each selected config is."""
        if self.read_only or self._shelf is None:
            return ()
        files, chunks, _ = self.store.catalogue.counts()
        return self.embedding.statuses(self._plan, chunks, files)

    def searchable(self) -> Searchable:
        """The words, and the vectors of each config that has enough of them."""
        files, chunks, _ = self.store.catalogue.counts()
        most_waiting = (1 - COMPLETE_SHARE) * chunks
        complete = (
            arm for arm in self.embedding.arms if arm.status(chunks, files).waiting <= most_waiting
        )
        return Searchable(self.store, tuple(complete))

    def close(self) -> None:
        """Stop at the next step; the store is closed once nobody uses it."""
        self._cancel.cancel()
        self.embedding.wake()
        _, still_running = wait(self._work, END_WITHIN_SECONDS)
        if not still_running:
            self.store.close()

    # Told by the indexer.

    def began(self, paths: Iterable[str]) -> None:
        """Files are about to be indexed; those told again have just been read."""
        if not self._progress.begin(paths):
            with self._lock:
                self._read = min(self._read + 1, self._begun)

    def indexed(self, files: Sequence[tuple[int, str]]) -> None:
        """Words of these files can be found."""
        chunks = self.store.catalogue.counts()[1]
        with self._lock:
            self._chunks = chunks
        for _, path in files:
            self._progress.cut(path)
        if self._shelf:
            self.embedding.push(files)
        else:
            for _, path in files:
                self._progress.end(path)

    def ended(self, path: str) -> None:
        """Nothing is left to do for this file."""
        self._progress.end(path)

    def between_batches(self) -> None:
        """Nothing is more urgent."""

    def _heard(self, _path: str, status: str, progress: float) -> None:
        with self._lock:
            if status == DONE:
                self._done += 1
                self._read = max(self._read, self._done)
            elif progress == 0:
                self._begun += 1

    def _index_words(self, indexer: Indexer) -> None:
        indexer.input_lengths = self._plan.input_lengths
        indexer.verify(always=True)
        indexer.recover()
        indexer.sweep()
        indexer.recut()
        if self._plan.certain:
            indexer.drop_cuts(besides=())
        self.embedding.all_is_cut()

    def _open_arm(self, config: ConfigPlan, performance: Performance) -> Arm:
        from kernel.indexing.vector_arm import VectorArm  # noqa: PLC0415 - heavy

        if self._shelf is None:
            raise AssertionError("vectors are asked for without a shelf")
        return VectorArm(config, performance, self._shelf(), self.store, self.courtesy)


def _opened(folder: Path, damage: StorageError | None) -> IndexStore:
    """The index to write, or to read once the process that makes it has made something of it."""
    deadline = time.monotonic() + READABLE_WITHIN_SECONDS
    while True:
        try:
            return open_index(folder, damage=damage)
        except IndexNotThere:
            if time.monotonic() > deadline:
                raise
            time.sleep(_TICK_SECONDS)
