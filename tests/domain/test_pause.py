import threading

from kernel.domain.cancel import CancelToken
from kernel.domain.courtesy import Courtesy, Pace
from kernel.domain.pause import Pause

PATIENCE_SECONDS = 10


def worker(pause: Pause, cancel: CancelToken, gone_on: threading.Event) -> threading.Thread:
    """Does one step, if it may."""
    pace = Pace(cancel, Courtesy(), pause)
    thread = threading.Thread(target=lambda: (pace.between_steps(), gone_on.set()))
    thread.start()
    return thread


def until_held(pause: Pause) -> None:
    for _ in range(PATIENCE_SECONDS * 1000):
        if pause.held:
            return
        threading.Event().wait(0.001)
    raise AssertionError("nobody stands still")


def test_work_stands_still_until_the_pause_is_lifted() -> None:
    pause, gone_on = Pause(), threading.Event()
    pause.begin()
    thread = worker(pause, CancelToken(), gone_on)
    until_held(pause)
    assert not gone_on.is_set()
    pause.lift()
    thread.join(PATIENCE_SECONDS)
    assert gone_on.is_set()
    assert not pause.held


def test_work_that_is_cancelled_does_not_wait_for_the_end_of_the_pause() -> None:
    pause, cancel, gone_on = Pause(), CancelToken(), threading.Event()
    pause.begin()
    thread = worker(pause, cancel, gone_on)
    until_held(pause)
    cancel.cancel()
    pause.wake()
    thread.join(PATIENCE_SECONDS)
    assert gone_on.is_set()
    assert pause.on


def test_without_a_pause_nobody_stands() -> None:
    gone_on = threading.Event()
    worker(Pause(), CancelToken(), gone_on).join(PATIENCE_SECONDS)
    assert gone_on.is_set()


def test_a_long_step_is_broken_off_by_a_pause_and_by_a_cancel_and_others_are_not() -> None:
    pause, cancel = Pause(), CancelToken()
    step = pause.breakable(cancel)
    assert not step.cancelled
    pause.begin()
    assert step.cancelled
    assert not cancel.cancelled
    assert pause.breakable(cancel).cancelled, "a step that begins in a pause"
    pause.lift()
    later = pause.breakable(cancel)
    assert not later.cancelled
    cancel.cancel()
    assert later.cancelled
