"""The thread that gives every text its vectors: quick models first, and nothing twice."""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Sequence

from kernel.domain.courtesy import Pace
from kernel.domain.index_status import ConfigStatus
from kernel.errors import Cancelled, InvalidModel, StorageError
from kernel.indexing.arm import Arm, OpenArm
from kernel.indexing.battery import on_battery
from kernel.indexing.hand_over import HandOver
from kernel.indexing.plan import ConfigPlan, IndexPlan
from kernel.indexing.progress import Progress
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.index_store import IndexStore
from kernel.storage.lance_failures import VectorsDamaged
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.storage.quarantine import MARK

logger = logging.getLogger(__name__)

# After so long without work the store is tidied.
IDLE_SECONDS = 2.0
# Whoever opens a repository asks its first question soon, and words answer it; importing what the
# vectors need takes seconds of the same interpreter, and begins after this.
FIRST_QUESTION_SECONDS = 0.3
# Files are compared before that, if it does not take too long: beside it, a million chunks were
# compared in eight seconds, and before it in two.
COMPARED_WITHIN_SECONDS = 5.0
# A full disk or a battery is looked at again after this.
TROUBLE_SECONDS = 30.0
# Vectors that are damaged so often in a row, before anything could be done with them, are left
# alone for a while: the disk is at fault.
MAX_REOPENED = 3
# Fingerprints of models that came with codekernel once (codekernel-static-v1): nobody can search
# their vectors any more, whatever the settings say.
OUTDATED_MODELS = frozenset({"f9270d03cd4ee0a6"})


class Embedding:
    """The arms of one repository; ``run`` is the whole life of its thread."""

    def __init__(
        self, store: IndexStore, open_arm: OpenArm, progress: Progress, pace: Pace
    ) -> None:
        self._store = store
        self._open_arm = open_arm
        self._progress = progress
        self._cancel = pace.cancel
        self._pause = pace.pause
        self._plan: IndexPlan | None = None
        self._wanted: IndexPlan | None = None
        self._hand_over = HandOver()
        self._troubles: dict[ConfigPlan, str] = {}
        self._open_again_at: float | None = None
        self._fresh: list[tuple[int, str]] = []
        self._left: dict[int, tuple[str, set[str]]] = {}
        self._tidy = True
        self._working = False
        self._opened = False
        self._expecting = False
        self._compared = False
        self._all_is_cut = False
        self._handed_over = False
        self._changed = threading.Condition()
        self._reopened = 0
        self.trouble = ""
        self.on_closed: Callable[[], None] = lambda: None

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The configs to search now: while the settings change, the old until the new are ready."""
        return self._hand_over.searched

    @property
    def input_lengths(self) -> set[int]:
        """The cuts that are searched or embedded now, also by configs that are on their way out."""
        return self._hand_over.input_lengths

    @property
    def idle(self) -> bool:
        """Whether everything that can have vectors has them."""
        with self._changed:
            return self._handed_over and not self._working and not self._has_work()

    @property
    def stands(self) -> bool:
        """Whether nothing is being done at the moment."""
        return not self._working or bool(self.trouble)

    def reconfigure(self, plan: IndexPlan) -> None:
        """Take other settings, as soon as the group under way is done."""
        with self._changed:
            self._wanted = plan
            self._all_is_cut = False
            self._changed.notify_all()

    def push(self, files: Sequence[tuple[int, str]]) -> None:
        """Files whose texts may need vectors."""
        with self._changed:
            self._fresh += files
            self._tidy = True
            self._changed.notify_all()

    def expect(self, *, files: bool) -> None:
        """The files have been compared; if some are about to come, open the models now."""
        with self._changed:
            self._compared = True
            if files:
                self._expecting = not self._opened
            self._changed.notify_all()

    def all_is_cut(self) -> None:
        """Every file has been cut as the settings ask, and pushed: nothing else will wait."""
        with self._changed:
            self._all_is_cut = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Look at the cancel token and the pause now."""
        with self._changed:
            self._changed.notify_all()

    def statuses(self, plan: IndexPlan, chunks: int, files: int) -> tuple[ConfigStatus, ...]:
        """How far each config of a plan is."""
        ready = {arm.config: arm.status(chunks, files) for arm in self._hand_over.working}
        return tuple(
            ready.get(config) or _not_ready(config, self._troubles.get(config, ""))
            for config in plan.configs
        )

    def run(self) -> None:
        """Work until cancelled."""
        try:
            while not self._cancel.cancelled:
                try:
                    self._turn()
                    self.trouble = ""
                    self._reopened = 0
                except Cancelled:
                    continue
                except (CatalogueDamaged, IndexUnreadable):
                    raise
                except VectorsDamaged as damage:
                    self._open_tables_again(damage)
                except StorageError as error:
                    self.trouble = str(error)
                    logger.warning("vectors cannot be kept for now: %s", error)
                    self._cancel.wait(TROUBLE_SECONDS)
        finally:
            for arm in self._hand_over.everybody_out():
                arm.close()

    def _open_tables_again(self, damage: VectorsDamaged) -> None:
        """Quarantine tables that cannot be used, and embed again what they had."""
        self._reopened += 1
        self.trouble = f"{damage} What is damaged is made again."
        logger.warning("%s", self.trouble)
        if self._reopened > MAX_REOPENED:
            self._cancel.wait(TROUBLE_SECONDS)
        for arm in self._hand_over.working:
            arm.reopen()
            self._catch_up(arm)

    def _turn(self) -> None:
        """One group of texts, or a change of settings, or a wait for either."""
        with self._changed:
            if not self._may_go_on():
                self._working = False
                self._changed.wait(None if self._pause.on else IDLE_SECONDS)
                if self._pause.on and not self._may_go_on():
                    return
            self._working = True
            wanted, self._wanted = self._wanted, None
            fresh, self._fresh = self._fresh, []
            expecting, self._expecting = self._expecting, False
            nothing = not (wanted or fresh or self._arms_wait() or self._may_hand_over())
        if wanted is not None:
            self._take(wanted)
        if (fresh or expecting) and self._plan and not self._opened:
            self._open_arms(self._plan)
        self._distribute(fresh)
        if nothing and self._open_again_at and time.monotonic() >= self._open_again_at:
            self._open_again_at = None
            self._open_arms(self._plan or IndexPlan())
        elif nothing:
            self._keep_tidy()
        elif self._arms_wait() and self._may_work():
            self._step()
        self._end_hand_over()

    def _has_work(self) -> bool:
        return self._has_news() or self._arms_wait() or self._may_hand_over()

    def _has_news(self) -> bool:
        news = bool(self._fresh) or self._expecting
        return news or self._wanted is not None or self._cancel.cancelled

    def _arms_wait(self) -> bool:
        return any(arm.waits for arm in self._hand_over.working)

    def _may_hand_over(self) -> bool:
        """Whether the new arms have caught up with all there is."""
        under_way = self._plan is not None and not self._handed_over
        caught_up = not any(arm.waits for arm in self._hand_over.newcomers)
        return under_way and self._all_is_cut and caught_up and not self._has_news()

    def _may_go_on(self) -> bool:
        """In a pause models are opened, for searches need them, and nothing is embedded."""
        return self._has_news() if self._pause.on else self._has_work()

    def _may_work(self) -> bool:
        if self._pause.on:
            return False
        if self._plan and self._plan.performance.pause_on_battery and on_battery():
            self.trouble = "waiting for mains power, as the settings ask"
            self._cancel.wait(TROUBLE_SECONDS)
            return False
        return True

    def _step(self) -> None:
        arm = next((arm for arm in self._hand_over.working if arm.waits), None)
        if arm is None:
            return
        step = arm.step(self._pause.breakable(self._cancel))
        for file_id in step.finished:
            self._finish(file_id, arm.config.name)
        if step.partly:
            self._tell(*step.partly)

    def _take(self, plan: IndexPlan) -> None:
        """Open what is newly selected; what no longer is answers until that has caught up."""
        self._plan = plan
        self._handed_over = False
        returning, closing = self._hand_over.begin(plan)
        self._close(closing)
        self._forget_closed()
        for arm in returning:
            self._catch_up(arm)
        self._troubles = {}
        # A repository without text needs no model, and a model costs a second and its memory.
        self._opened = False
        if self._store.catalogue.counts()[1]:
            if not self._hand_over.searched:
                self._let_others_go_first()
            self._open_arms(plan)

    def _close(self, arms: Sequence[Arm]) -> None:
        for arm in arms:
            arm.close()
        if arms:
            self.on_closed()

    def _let_others_go_first(self) -> None:
        self._cancel.wait(FIRST_QUESTION_SECONDS)
        with self._changed:
            self._changed.wait_for(
                lambda: self._compared or self._pause.on or self._cancel.cancelled,
                COMPARED_WITHIN_SECONDS,
            )

    def _open_arms(self, plan: IndexPlan) -> None:
        self._opened, self._handed_over = True, False
        for config in plan.configs:
            known = {arm.config for arm in self._hand_over.working}
            if config not in known and not self._cancel.cancelled:
                self._open(config, plan)
        if not self._hand_over.newcomers:  # as none of them can be used, nobody is waited for
            self._close(self._hand_over.complete())

    def _open(self, config: ConfigPlan, plan: IndexPlan) -> None:
        try:
            arm = self._open_arm(config, plan.performance)
        except (InvalidModel, StorageError) as error:
            if str(error) != self._troubles.get(config):
                logger.warning("embedding config %s is not used: %s", config.name, error)
            self._troubles[config] = str(error)
            if isinstance(error, StorageError):  # a full disk, which gets room again
                self._open_again_at = time.monotonic() + TROUBLE_SECONDS
            return
        self._troubles.pop(config, None)
        self._hand_over.join(arm, plan)
        self._catch_up(arm)

    def _catch_up(self, arm: Arm) -> None:
        files = [
            (file_id, path)
            for file_id in arm.catch_up()
            if (path := self._store.catalogue.path_of(file_id)) is not None
        ]
        self._progress.begin(path for _, path in files)
        for file_id, path in files:
            self._left.setdefault(file_id, (path, set()))[1].add(arm.config.name)

    def _end_hand_over(self) -> None:
        """Close the arms that have been replaced, and forget vectors nobody wants."""
        with self._changed:
            if not self._may_hand_over() or self._plan is None:
                return
            self._handed_over = True
        self._close(self._hand_over.complete())
        all_open = {arm.config for arm in self._hand_over.working} == set(self._plan.configs)
        if self._opened and all_open:
            self._drop_unwanted(certain=self._plan.certain)

    def _drop_unwanted(self, *, certain: bool) -> None:
        used = {arm.folder_name for arm in self._hand_over.working}
        for folder in self._store.vectors_folders():
            is_outdated = folder.name.partition("-")[0] in OUTDATED_MODELS
            if folder.name not in used and (certain or is_outdated):
                logger.info("deleting vectors that no selected config uses: %s", folder.name)
                shutil.rmtree(folder, ignore_errors=True)
                for damaged in folder.parent.glob(f"{folder.name}{MARK}*"):
                    shutil.rmtree(damaged, ignore_errors=True)

    def _distribute(self, files: Sequence[tuple[int, str]]) -> None:
        names = {arm.config.name for arm in self._hand_over.working}
        for file_id, path in files:
            if names:
                self._left.setdefault(file_id, (path, set()))[1].update(names)
            else:
                self._progress.end(path)
        for arm in self._hand_over.working:
            arm.push(file_id for file_id, _ in files)

    def _finish(self, file_id: int, name: str) -> None:
        path, left = self._left.get(file_id, ("", set()))
        left.discard(name)
        if left:
            self._tell(file_id, 0.0)
        elif path:
            del self._left[file_id]
            self._progress.end(path)

    def _tell(self, file_id: int, share: float) -> None:
        """Report a file; ``share`` is how far its present config is."""
        arms = len(self._hand_over.working)
        if file_id in self._left and arms:
            path, left = self._left[file_id]
            self._progress.embedded(path, 1 - (len(left) - share) / max(arms, len(left)))

    def _forget_closed(self) -> None:
        """Files that waited only for a config that no longer works are done."""
        names = {arm.config.name for arm in self._hand_over.working}
        for file_id, (_, left) in list(self._left.items()):
            for name in left - names:
                self._finish(file_id, name)

    def _keep_tidy(self) -> None:
        # A long initial index pauses between two batches too. Tidying rewrites all rows: done in
        # each pause, it would take a time that grows with the square of the rows.
        if self._tidy and not self._progress.under_way and not self._pause.on:
            self._tidy = False
            for arm in self._hand_over.working:
                if not self._cancel.cancelled:
                    arm.tidy()


def _not_ready(config: ConfigPlan, trouble: str) -> ConfigStatus:
    return ConfigStatus(
        name=config.name,
        ready=False,
        chunks=0,
        waiting=0,
        chunks_per_second=None,
        seconds_left=None,
        trouble=trouble,
    )
