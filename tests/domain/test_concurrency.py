import threading
import time
from contextlib import ExitStack

import pytest
from codekernel.domain.concurrency import (
    BackgroundThrottle,
    CancelToken,
    CloseGuard,
    Lazy,
    PauseSwitch,
    RefCounted,
    WorkControl,
)
from support.polling import wait_until


def test_a_child_is_cancelled_with_its_parent_and_alone_without_it() -> None:
    parent = CancelToken()
    one, two = parent.create_child(), parent.create_child()
    one.cancel()
    assert (parent.is_cancelled, one.is_cancelled, two.is_cancelled) == (False, True, False)
    grandchild = two.create_child()
    parent.cancel()
    assert two.is_cancelled
    assert grandchild.is_cancelled
    assert parent.create_child().is_cancelled


def test_a_parent_does_not_keep_its_children_alive() -> None:
    parent = CancelToken()
    for _ in range(100):
        parent.create_child()
    assert len(parent._children) == 0


def test_who_cannot_look_is_told_of_a_cancel_within_the_block_and_not_after_it() -> None:
    token, calls = CancelToken(), list[str]()
    with token.on_cancel(lambda: calls.append("before")):
        pass
    with token.on_cancel(lambda: calls.append("within")):
        token.cancel()
    with token.on_cancel(lambda: calls.append("too late")):
        assert calls == ["within", "too late"]
    token.cancel()
    assert calls == ["within", "too late"]


def test_a_cancelled_parent_tells_those_of_its_children() -> None:
    parent, calls = CancelToken(), list[str]()
    child = parent.create_child()
    with child.on_cancel(lambda: calls.append("told")):
        parent.cancel()
    assert calls == ["told"]


TIMEOUT_SECONDS = 60


def worker(pause: PauseSwitch, cancel: CancelToken, gone_on: threading.Event) -> threading.Thread:
    """Does one step, if it may."""
    control = WorkControl(cancel, BackgroundThrottle(), pause)

    def do_step() -> None:
        control.wait_between_steps()
        gone_on.set()

    thread = threading.Thread(target=do_step)
    thread.start()
    return thread


def until_held(pause: PauseSwitch) -> None:
    wait_until(lambda: pause.has_waiters, "nobody stands still")


def test_work_stands_still_until_the_pause_is_lifted() -> None:
    pause, gone_on = PauseSwitch(), threading.Event()
    pause.pause()
    thread = worker(pause, CancelToken(), gone_on)
    until_held(pause)
    assert not gone_on.is_set()
    pause.resume()
    thread.join(TIMEOUT_SECONDS)
    assert gone_on.is_set()
    assert not pause.has_waiters


def test_work_that_is_cancelled_does_not_wait_for_the_end_of_the_pause() -> None:
    pause, cancel, gone_on = PauseSwitch(), CancelToken(), threading.Event()
    pause.pause()
    thread = worker(pause, cancel, gone_on)
    until_held(pause)
    cancel.cancel()
    pause.wake_waiters()
    thread.join(TIMEOUT_SECONDS)
    assert gone_on.is_set()
    assert pause.is_paused


def test_without_a_pause_nobody_stands() -> None:
    gone_on = threading.Event()
    worker(PauseSwitch(), CancelToken(), gone_on).join(TIMEOUT_SECONDS)
    assert gone_on.is_set()


def test_a_long_step_is_broken_off_by_a_pause_and_by_a_cancel_and_others_are_not() -> None:
    pause, cancel = PauseSwitch(), CancelToken()
    step = pause.create_step_token(cancel)
    cancelled = [step.is_cancelled]
    pause.pause()
    cancelled += [step.is_cancelled, cancel.is_cancelled]
    assert cancelled == [False, True, False]
    assert pause.create_step_token(cancel).is_cancelled, "a step that begins in a pause"
    pause.resume()
    lazy = pause.create_step_token(cancel)
    cancelled = [lazy.is_cancelled]
    cancel.cancel()
    assert [*cancelled, lazy.is_cancelled] == [False, True]


def test_background_work_waits_while_somebody_asks() -> None:
    shared, passed = BackgroundThrottle(TIMEOUT_SECONDS), threading.Event()

    def do_step() -> None:
        shared.yield_to_queries()
        passed.set()

    worker = threading.Thread(target=do_step)
    with shared.query_running(), shared.query_running():
        worker.start()
        assert not passed.wait(0.05)
    assert passed.wait(TIMEOUT_SECONDS)
    worker.join(TIMEOUT_SECONDS)


def test_questions_without_end_do_not_stop_the_work() -> None:
    shared = BackgroundThrottle()
    with shared.query_running():
        shared.yield_to_queries()
        shared.yield_to_queries()
    assert shared._no_queries.is_set()


def test_after_a_wait_some_work_is_done_before_the_next_one() -> None:
    shared = BackgroundThrottle(0.01, min_work_seconds=TIMEOUT_SECONDS)
    with shared.query_running():
        shared.yield_to_queries()
        began = time.monotonic()
        for _ in range(1_000):
            shared.yield_to_queries()
    assert time.monotonic() - began < 1_000 * 0.01


def test_nobody_waits_when_nobody_asks() -> None:
    shared = BackgroundThrottle(threading.TIMEOUT_MAX)
    worker = threading.Thread(target=shared.yield_to_queries, daemon=True)
    worker.start()
    worker.join(TIMEOUT_SECONDS)
    assert not worker.is_alive()


def test_it_is_made_once_however_many_threads_ask() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[0]

    lazy = Lazy(make)
    threads = [threading.Thread(target=lazy) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [lazy()] == made


def test_what_nobody_asked_for_is_not_made_to_be_closed() -> None:
    lazy = Lazy(lambda: "value")
    closed: list[str] = []
    lazy.use_if_created(closed.append)
    assert closed == []
    assert lazy() == "value"
    lazy.use_if_created(closed.append)
    assert closed == ["value"]


def test_a_value_is_opened_for_the_first_borrower_and_closed_after_the_last() -> None:
    events: list[str] = []
    shared: RefCounted[str, str] = RefCounted(close=lambda value: events.append(f"close {value}"))

    def open_it() -> str:
        events.append("open")
        return "it"

    with shared.acquire("key", open_it) as one:
        with shared.acquire("key", open_it) as other:
            assert one is other
        assert events == ["open"]
    assert events == ["open", "close it"]


def test_a_second_borrower_waits_while_the_first_opens() -> None:
    shared: RefCounted[str, object] = RefCounted(close=lambda _: None)
    opening, may_go_on = threading.Event(), threading.Event()
    found: list[object] = []

    def slowly() -> object:
        opening.set()
        assert may_go_on.wait(TIMEOUT_SECONDS)
        return object()

    all_have_it = threading.Barrier(3)

    def borrow() -> None:
        with shared.acquire("key", slowly) as value:
            found.append(value)
            all_have_it.wait(TIMEOUT_SECONDS)

    threads = [threading.Thread(target=borrow) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert opening.wait(TIMEOUT_SECONDS)
    may_go_on.set()
    for thread in threads:
        thread.join(TIMEOUT_SECONDS)
    assert len(found) == 3
    assert len(set(map(id, found))) == 1


def test_a_value_that_cannot_be_opened_leaves_nothing_behind() -> None:
    shared: RefCounted[str, str] = RefCounted(close=lambda _: None)

    def fail() -> str:
        raise OSError("no")

    with ExitStack() as stack, pytest.raises(OSError, match="no"):
        stack.enter_context(shared.acquire("key", fail))
    with shared.acquire("key", lambda: "fine") as value:
        assert value == "fine"


def test_closing_waits_for_those_inside_and_tells_those_who_come_later() -> None:
    closing = CloseGuard()
    closed = threading.Event()

    def close() -> None:
        closing.close()
        closed.set()

    closer = threading.Thread(target=close)
    with closing.use() as is_open:
        assert is_open
        closer.start()
        while still_open(closing):
            pass
        assert not closed.is_set()
    assert closed.wait(TIMEOUT_SECONDS)
    closer.join()


def still_open(closing: CloseGuard) -> bool:
    with closing.use() as is_open:
        return is_open
