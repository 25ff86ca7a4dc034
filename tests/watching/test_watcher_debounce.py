import itertools

import pytest
from codekernel.watching.event_source import ChangedPaths
from codekernel.watching.watcher import (
    BURST_DEBOUNCE_SECONDS,
    DEBOUNCE_SECONDS,
    DEFAULT_TIMINGS,
    MAX_CHANGED_PATHS,
    MAX_DEBOUNCE_SECONDS,
    MAX_SAVED_PATHS,
    Debouncer,
)

RESCAN = ChangedPaths(needs_rescan=True)


def paths(*names: str) -> ChangedPaths:
    return ChangedPaths(frozenset(names), needs_rescan=False)


def storm(debouncer: Debouncer, begin: float, end: float) -> list[float]:
    """The moments of the sweeps while a path changes every millisecond, and after."""
    sweeps = []
    for step in range(int((end - begin) * 1000) + 5000):
        now = begin + step / 1000
        if now < end:
            debouncer.add([f"file{step}"], now)
        if (changes := debouncer.take_due(now)) is not None:
            assert changes == RESCAN
            sweeps.append(now)
    return sweeps


def test_nothing_is_due_before_anything_happened() -> None:
    debouncer = Debouncer()
    debouncer.add([], 0.0)
    assert debouncer.get_due_time() is None
    assert debouncer.take_due(1e9) is None


def test_changes_close_together_are_told_once_after_a_silence() -> None:
    debouncer = Debouncer()
    debouncer.add(["a"], 10.0)
    debouncer.add(["b", "a"], 10.0 + DEBOUNCE_SECONDS / 2)
    assert debouncer.get_due_time() == pytest.approx(10.0 + DEBOUNCE_SECONDS * 1.5)
    assert debouncer.take_due(10.0 + DEBOUNCE_SECONDS) is None
    assert debouncer.take_due(10.0 + DEBOUNCE_SECONDS * 1.6) == paths("a", "b")
    assert debouncer.get_due_time() is None


def test_more_files_than_a_person_saves_are_waited_for_longer() -> None:
    names = [str(number) for number in range(MAX_SAVED_PATHS + 1)]
    debouncer = Debouncer()
    debouncer.add(names[:-1], 10.0)
    assert debouncer.get_due_time() == pytest.approx(10.0 + DEBOUNCE_SECONDS)
    debouncer.add(names[-1:], 10.0)
    assert debouncer.get_due_time() == pytest.approx(10.0 + BURST_DEBOUNCE_SECONDS)
    assert debouncer.take_due(10.0 + BURST_DEBOUNCE_SECONDS) == paths(*names)


def test_changes_without_a_silence_are_list_paths_until_now_the_longest_wait() -> None:
    debouncer = Debouncer()
    now = 0.0
    while debouncer.take_due(now) is None:
        debouncer.add(["log"], now)
        now += DEBOUNCE_SECONDS / 2
    assert now == pytest.approx(MAX_DEBOUNCE_SECONDS, abs=DEBOUNCE_SECONDS)


def test_as_many_paths_as_are_remembered_are_told_and_one_more_is_a_sweep() -> None:
    names = [str(number) for number in range(MAX_CHANGED_PATHS + 1)]
    debouncer = Debouncer()
    debouncer.add(names[:-1], 0.0)
    assert debouncer.take_due(1.0) == paths(*names[:-1])
    debouncer.add(names, 1.0)
    assert debouncer.take_due(2.0) == RESCAN


def test_a_sweep_swallows_the_paths_before_and_after_it() -> None:
    debouncer = Debouncer()
    debouncer.add(["a"], 0.0)
    debouncer.add([], 0.0, needs_rescan=True)
    debouncer.add(["b"], 0.0)
    assert debouncer.take_due(1.0) == RESCAN
    assert debouncer.take_due(9.0) is None


def test_a_storm_has_a_sweep_per_interval_and_one_after_its_end() -> None:
    sweeps = storm(Debouncer(), 100.0, 110.0)
    assert sweeps[0] == pytest.approx(100.0 + MAX_DEBOUNCE_SECONDS)
    gaps = [after - before for before, after in itertools.pairwise(sweeps)]
    assert min(gaps) >= DEFAULT_TIMINGS.min_rescan - 1e-6
    assert 10 <= len(sweeps) <= 11
    assert sweeps[-1] >= 110.0


def test_a_short_storm_has_one_sweep() -> None:
    seconds = MAX_DEBOUNCE_SECONDS * 0.65
    due = pytest.approx(seconds + BURST_DEBOUNCE_SECONDS, abs=0.01)
    assert storm(Debouncer(), 0.0, seconds) == [due]


def test_a_save_right_after_a_sweep_does_not_wait_for_the_interval() -> None:
    debouncer = Debouncer()
    debouncer.add([], 0.0, needs_rescan=True)
    assert debouncer.take_due(DEBOUNCE_SECONDS) == RESCAN
    debouncer.add(["a"], DEBOUNCE_SECONDS)
    assert debouncer.take_due(DEBOUNCE_SECONDS * 2) == paths("a")
