"""The thread that keeps one repository's index up to date, and what it does about trouble."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kernel.domain.courtesy import Pace
from kernel.errors import StorageError
from kernel.indexing.cutters import cutters_for
from kernel.indexing.embedding import Embedding
from kernel.indexing.indexer import Indexer
from kernel.indexing.plan import IndexPlan
from kernel.indexing.progress import Progress
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.index_store import IndexStore, IndexToReopen
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.watching.debounce import Changes

logger = logging.getLogger(__name__)

# A full disk, or a folder that is away, is looked at again after these, or when something changes:
# soon at first, for room is often made at once, and each time after twice as long.
FIRST_TROUBLE_SECONDS = 1.0
TROUBLE_SECONDS = 10.0
# After so long without a change the store is tidied.
IDLE_SECONDS = 2.0
# How often an idle index is looked at, and how often all of it is read and compared with its
# checksums: what another program changes is noticed soon, and what a disk forgets the same day.
LOOK_SECONDS = 10.0
VERIFY_SECONDS = 3600.0
# When watching has begun, everything is compared, for something may have changed before. An index
# that has answers already waits so long for that, and is not compared twice.
WATCHED_WITHIN_SECONDS = 3.0


class Keeper:
    """One repository's files, followed for as long as it is open."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        embedding: Embedding,
        progress: Progress,
        pace: Pace,
    ) -> None:
        self._embedding = embedding
        self._progress = progress
        self._store = store
        self._cancel = pace.cancel
        self._pause = pace.pause
        self.indexer = Indexer(root, store, self, pace)
        self._paths: set[str] = set()
        self._sweep = True
        self._plan: IndexPlan | None = None
        self._may_drop_cuts = False
        self._cuts_left = False
        self._changed = threading.Condition()
        self._tidied = False
        self._is_suspect = False
        self._verified_at = time.monotonic()
        self.verifications = 0
        self.has_settled = False
        self._watched = False
        self.state = "starting"
        self.trouble = ""
        self._trouble_seconds = FIRST_TROUBLE_SECONDS
        self.on_folders_differ: Callable[[], None] = lambda: None
        embedding.on_closed = self._cuts_are_left

    def notice(self, changes: Changes) -> None:
        """Something has changed among the files; any thread."""
        with self._changed:
            self._paths |= changes.paths
            self._sweep |= changes.sweep
            self._watched |= changes.sweep
            self._changed.notify_all()

    def reconfigure(self, plan: IndexPlan) -> None:
        """The settings have changed; any thread."""
        with self._changed:
            self._plan = plan
            self._changed.notify_all()

    def suspect(self) -> None:
        """Have the index compared with its checksums soon; any thread."""
        with self._changed:
            self._is_suspect = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Look at the cancel token and the pause now."""
        with self._changed:
            self._changed.notify_all()

    @property
    def idle(self) -> bool:
        """Whether every change that was noticed has been dealt with."""
        with self._changed:
            return self.state == "idle" and not self._is_asked_for()

    @property
    def stands(self) -> bool:
        """Whether nothing is being done at the moment."""
        return self.state == "idle" or self._pause.held

    def wait_until_watched(self) -> None:
        """Wait, but not for long, until no change can be missed any more."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._watched or self._cancel.cancelled, WATCHED_WITHIN_SECONDS
            )

    def run(self) -> None:
        """Follow the files until cancelled; raises CatalogueDamaged or IndexUnreadable."""
        recovered = False
        while not self._cancel.cancelled:
            try:
                if not recovered:
                    self.state = "recovering"
                    # Before anything is written: a page that is written anew has a new checksum.
                    self._verify(always=not self.verifications)
                    self.indexer.recover()
                    recovered = True
                self._turn()
            except (CatalogueDamaged, IndexUnreadable, IndexToReopen):
                raise
            except StorageError as error:
                recovered = False
                self._in_trouble(error)

    def began(self, paths: Iterable[str]) -> None:
        """Told by the indexer: these files are about to be indexed."""
        self._embedding.expect(files=bool(self._progress.begin(paths)))

    def indexed(self, files: Sequence[tuple[int, str]]) -> None:
        """Told by the indexer: words of these files can be found."""
        for _, path in files:
            self._progress.cut(path)
        if files:
            self._embedding.push(files)

    def ended(self, path: str) -> None:
        """Told by the indexer: nothing is left to do for this file."""
        self._progress.end(path)

    def between_batches(self) -> None:
        """Told by the indexer: the file someone has just saved goes before the long list."""
        with self._changed:
            paths, self._paths = self._paths, set()
            plain = self._are_plain(paths)
            self._sweep |= not plain
        if plain and paths:
            self.indexer.look_at(paths)

    def _turn(self) -> None:
        """Deal with what has changed; with nothing, wait for it."""
        if self._stays_quiet():
            self._look_after_store()
            return
        if self._is_suspect:
            self._is_suspect = False
            self._verify(always=True)
            return
        with self._changed:
            if not self._is_asked_for():
                return  # woken by a pause, or by its end
            plan, self._plan = self._plan, None
            paths, self._paths = self._paths, set()
            sweep, self._sweep = self._sweep, False
            cuts_left, self._cuts_left = self._cuts_left, False
            self.state, self._tidied = "indexing", False
        if plan:
            self.indexer.input_lengths = plan.input_lengths
            self.indexer.cutters = cutters_for(plan.performance)
            self._may_drop_cuts = plan.certain
            self._embedding.reconfigure(plan)  # what is searched changes in a pause too
        self._pause.stand(self._cancel)
        try:
            self._look(paths, sweep=sweep)
            if plan:
                self.indexer.recut()
                self._embedding.all_is_cut()
            if self._may_drop_cuts and (plan or cuts_left):
                self.indexer.drop_cuts(besides=self._embedding.input_lengths)
            self.trouble, self._trouble_seconds = "", FIRST_TROUBLE_SECONDS
        except StorageError:
            with self._changed:  # everything is looked at again
                self._sweep = self._cuts_left = True
                self._plan = self._plan or plan
            raise

    def _look_after_store(self) -> None:
        """Use a quiet moment: tidy up once, then see now and then that all is as it was."""
        if self._tidied:
            self._verify(always=time.monotonic() - self._verified_at > VERIFY_SECONDS)
        else:
            self._tidied = True
            self.indexer.tidy()
            self.has_settled = True
        if self._store.wants_reopening:
            raise IndexToReopen(f"the disk of {self._store.folder} has room again")

    def _verify(self, *, always: bool) -> None:
        self.indexer.verify(always=always)
        self._verified_at = time.monotonic() if always else self._verified_at
        self.verifications += always

    def _look(self, paths: set[str], *, sweep: bool) -> None:
        if sweep or not self._are_plain(paths):
            self.indexer.sweep()
            if self.indexer.folders_differ:
                self.on_folders_differ()
        elif paths:
            self.indexer.look_at(paths)

    def _stays_quiet(self) -> bool:
        """Wait for work; true if none came for a while, which is the moment to tidy up."""
        with self._changed:
            if self._has_work():
                return False
            self.state = "idle"
            paused = self._pause.on
            return not self._changed.wait_for(
                lambda: self._has_work() or self._pause.on is not paused,
                None if paused else LOOK_SECONDS if self._tidied else IDLE_SECONDS,
            )

    def _has_work(self) -> bool:
        """Whether there is something that may be done now."""
        may_go_on = not self._pause.on and self._is_asked_for()
        return bool(may_go_on or self._plan or self._is_suspect or self._cancel.cancelled)

    def _is_asked_for(self) -> bool:
        return bool(self._paths or self._sweep or self._plan or self._cuts_left)

    def _cuts_are_left(self) -> None:
        """Told by the embedding: a config is no longer searched, and perhaps its cut not needed."""
        with self._changed:
            self._cuts_left = True
            self._changed.notify_all()

    def _are_plain(self, paths: set[str]) -> bool:
        """Whether paths can be looked at one by one; a changed rule can change any verdict."""
        return not any(self.indexer.walk.is_rule_file(path) for path in paths)

    def _in_trouble(self, error: StorageError) -> None:
        if str(error) != self.trouble:
            logger.warning("indexing waits: %s", error)
        self.trouble = str(error)
        self.state = "trouble"
        with self._changed:
            if not self._cancel.cancelled:
                self._changed.wait(min(self._trouble_seconds, TROUBLE_SECONDS))
        self._trouble_seconds = min(2 * self._trouble_seconds, TROUBLE_SECONDS)
