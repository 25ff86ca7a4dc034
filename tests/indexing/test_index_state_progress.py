import threading
import time

import pytest
from codekernel.domain.concurrency import CancelToken, PauseSwitch
from codekernel.indexing.index_state import ProgressTracker

Told = list[tuple[str, str, float]]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def tracker() -> tuple[ProgressTracker, Told, Clock]:
    told: Told = []
    clock = Clock()
    progress = ProgressTracker(clock)
    progress.subscribe(lambda *said: told.append(said))
    return progress, told, clock


def test_each_file_begins_at_zero_and_ends_with_one_done() -> None:
    progress, told, _ = tracker()
    progress.begin_files(["a", "b"])
    progress.finish_file("a")
    progress.finish_file("a")
    assert told == [("a", "embedding", 0.0), ("b", "embedding", 0.0), ("a", "done", 1.0)]
    assert progress.pending_count == 1


def test_small_steps_are_told_only_after_a_quiet_second() -> None:
    progress, told, clock = tracker()
    progress.begin_files(["a"])
    progress.mark_embedded("a", 0.05)
    assert len(told) == 1
    clock.now += 1.0
    progress.mark_embedded("a", 0.06)
    assert len(told) == 2
    progress.mark_embedded("a", 0.07)
    assert len(told) == 2


def test_large_steps_and_the_end_of_the_way_are_told_at_once() -> None:
    progress, told, _ = tracker()
    progress.begin_files(["a"])
    progress.mark_embedded("a", 0.2)
    progress.mark_embedded("a", 1.0)
    assert [round(value, 3) for _, _, value in told] == [0.0, 0.222, 0.99]


def test_progress_never_runs_backwards() -> None:
    progress, told, clock = tracker()
    progress.begin_files(["a"])
    progress.mark_embedded("a", 0.5)
    clock.now += 5
    progress.mark_embedded("a", 0.1)
    progress.begin_files(["a"])
    values = [value for _, _, value in told]
    assert values == sorted(values)


def test_nothing_is_said_of_a_file_that_never_began() -> None:
    progress, told, _ = tracker()
    progress.mark_chunked("a")
    progress.finish_file("a")
    assert told == []


def test_a_window_that_is_opened_later_learns_what_is_under_way() -> None:
    progress, _, _ = tracker()
    progress.begin_files(["a", "b"])
    progress.mark_embedded("b", 0.5)
    told: Told = []
    progress.subscribe(lambda *said: told.append(said))
    assert [(path, round(value, 2)) for path, _, value in told] == [("a", 0.0), ("b", 0.51)]


def test_files_that_stand_still_are_told_of_again_after_a_quiet_second() -> None:
    progress, told, clock = tracker()
    progress.send_reminder()
    progress.begin_files(["a", "b"])
    progress.mark_embedded("a", 0.5)
    clock.now += 0.9
    progress.send_reminder()
    assert len(told) == 3
    clock.now += 0.1
    progress.send_reminder()
    assert told[3:] == [("a", "embedding", told[2][2])]
    progress.finish_file("a")
    clock.now += 1
    progress.send_reminder()
    assert told[-1] == ("b", "embedding", 0.0)
    progress.finish_file("b")
    clock.now += 1
    progress.send_reminder()
    assert told[-1] == ("b", "done", 1.0)


@pytest.mark.slow
def test_reminders_come_while_files_are_under_way_and_end_with_them() -> None:
    told: Told = []
    heard = threading.Semaphore(0)
    cancel = CancelToken()

    def hear(path: str, status: str, progress: float) -> None:
        told.append((path, status, progress))
        heard.release()

    def quick() -> float:  # five seconds pass in each of ours
        return time.monotonic() * 5

    progress = ProgressTracker(quick)
    progress.subscribe(hear)
    paused = PauseSwitch()
    reminding = threading.Thread(target=progress.run_reminders, args=(cancel, paused))
    reminding.start()
    progress.begin_files(["a"])
    for _ in range(3):
        assert heard.acquire(timeout=60)
    paused.pause()
    progress.finish_file("a")
    assert told[:3] == [("a", "embedding", 0.0)] * 3
    assert told[-1] == ("a", "done", 1.0)
    cancel.cancel()
    progress.wake()
    reminding.join(60)
    assert not reminding.is_alive()
