"""Which arms answer searches while the settings change: the old ones until the new have caught up.

So a search never has half a list where it had a whole one. Where nobody could answer before, as
after a start, the new ones are searched as their vectors come.
"""

from collections.abc import Sequence

from kernel.indexing.arm import Arm
from kernel.indexing.plan import ConfigPlan, IndexPlan


class HandOver:
    """Changed by the embedding thread alone; ``working`` and ``searched`` are read by any."""

    def __init__(self) -> None:
        self.working: tuple[Arm, ...] = ()  # the configs of the settings, in their order
        self.searched: tuple[Arm, ...] = ()
        self.newcomers: tuple[Arm, ...] = ()  # those of ``working`` that have not caught up so far

    @property
    def input_lengths(self) -> set[int]:
        """The cuts that searches and vectors still need."""
        return {arm.config.input_length for arm in (*self.searched, *self.working)}

    def begin(self, plan: IndexPlan) -> tuple[list[Arm], list[Arm]]:
        """Take other settings: the arms that are to work again, and those that can be closed.

        An arm that is no longer selected goes on answering if others are to take its place.
        """
        everybody = list(dict.fromkeys((*self.searched, *self.working)))
        staying = [arm for arm in everybody if _suits(arm, plan)]
        returning = [arm for arm in staying if arm not in self.working]
        self.newcomers = tuple(arm for arm in self.newcomers if arm in staying)
        has_heirs = bool(self.newcomers) or {arm.config for arm in staying} != set(plan.configs)
        leaving = [
            arm
            for arm in self.searched
            if arm not in staying and has_heirs and arm.status(chunks=0, files=0).chunks
        ]
        self._choose(leaving, _ordered(staying, plan.configs))
        return returning, [arm for arm in everybody if arm not in (*staying, *leaving)]

    def join(self, arm: Arm, plan: IndexPlan) -> None:
        """An arm has been opened, and has yet to catch up."""
        self.newcomers = (*self.newcomers, arm)
        self._choose(self._leaving(), _ordered((*self.working, arm), plan.configs))

    def complete(self) -> list[Arm]:
        """The new arms have caught up, and are searched; those that can be closed now."""
        leaving = self._leaving()
        self.newcomers = ()
        self._choose([], self.working)
        return leaving

    def everybody_out(self) -> list[Arm]:
        """Nobody is searched any more; all that can be closed."""
        everybody = list(dict.fromkeys((*self.searched, *self.working)))
        self.searched = self.working = self.newcomers = ()
        return everybody

    def _leaving(self) -> list[Arm]:
        return [arm for arm in self.searched if arm not in self.working]

    def _choose(self, leaving: Sequence[Arm], working: tuple[Arm, ...]) -> None:
        ready = [arm for arm in working if not leaving or arm not in self.newcomers]
        for arm in working:
            arm.heirs = ()
        for arm in leaving:
            arm.heirs = self.newcomers
        self.searched = (*leaving, *ready)
        self.working = working


def _suits(arm: Arm, plan: IndexPlan) -> bool:
    return arm.config in plan.configs and arm.performance == plan.performance


def _ordered(arms: Sequence[Arm], configs: Sequence[ConfigPlan]) -> tuple[Arm, ...]:
    return tuple(sorted(arms, key=lambda arm: configs.index(arm.config)))
