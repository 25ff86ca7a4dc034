import threading

from codekernel.domain.concurrency import BackgroundThrottle, CancelToken, PauseSwitch, WorkControl

PATIENCE_SECONDS = 10


def worker(pause: PauseSwitch, cancel: CancelToken, gone_on: threading.Event) -> threading.Thread:
    """Does one step, if it may."""
    pace = WorkControl(cancel, BackgroundThrottle(), pause)
    thread = threading.Thread(target=lambda: (pace.wait_between_steps(), gone_on.set()))
    thread.start()
    return thread


def until_held(pause: PauseSwitch) -> None:
    for _ in range(PATIENCE_SECONDS * 1000):
        if pause.has_waiters:
            return
        threading.Event().wait(0.001)
    raise AssertionError("nobody stands still")


def test_work_stands_still_until_the_pause_is_lifted() -> None:
    pause, gone_on = PauseSwitch(), threading.Event()
    pause.pause()
    thread = worker(pause, CancelToken(), gone_on)
    until_held(pause)
    assert not gone_on.is_set()
    pause.resume()
    thread.join(PATIENCE_SECONDS)
    assert gone_on.is_set()
    assert not pause.has_waiters


def test_work_that_is_cancelled_does_not_wait_for_the_end_of_the_pause() -> None:
    pause, cancel, gone_on = PauseSwitch(), CancelToken(), threading.Event()
    pause.pause()
    thread = worker(pause, cancel, gone_on)
    until_held(pause)
    cancel.cancel()
    pause.wake_waiters()
    thread.join(PATIENCE_SECONDS)
    assert gone_on.is_set()
    assert pause.is_paused


def test_without_a_pause_nobody_stands() -> None:
    gone_on = threading.Event()
    worker(PauseSwitch(), CancelToken(), gone_on).join(PATIENCE_SECONDS)
    assert gone_on.is_set()


def test_a_long_step_is_broken_off_by_a_pause_and_by_a_cancel_and_others_are_not() -> None:
    pause, cancel = PauseSwitch(), CancelToken()
    step = pause.create_step_token(cancel)
    assert not step.is_cancelled
    pause.pause()
    assert step.is_cancelled
    assert not cancel.is_cancelled
    assert pause.create_step_token(cancel).is_cancelled, "a step that begins in a pause"
    pause.resume()
    later = pause.create_step_token(cancel)
    assert not later.is_cancelled
    cancel.cancel()
    assert later.is_cancelled
