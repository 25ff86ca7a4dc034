import threading
from contextlib import ExitStack

import pytest
from codekernel.domain.concurrency import RefCounted

PATIENCE_SECONDS = 10


def test_a_value_is_opened_for_the_first_borrower_and_closed_after_the_last() -> None:
    events: list[str] = []
    lending: RefCounted[str, str] = RefCounted(close=lambda value: events.append(f"close {value}"))

    def open_it() -> str:
        events.append("open")
        return "it"

    with lending.acquire("key", open_it) as one:
        with lending.acquire("key", open_it) as other:
            assert one is other
        assert events == ["open"]
    assert events == ["open", "close it"]


def test_a_second_borrower_waits_while_the_first_opens() -> None:
    lending: RefCounted[str, object] = RefCounted(close=lambda _: None)
    opening, may_go_on = threading.Event(), threading.Event()
    found: list[object] = []

    def slowly() -> object:
        opening.set()
        assert may_go_on.wait(PATIENCE_SECONDS)
        return object()

    all_have_it = threading.Barrier(3)

    def borrow() -> None:
        with lending.acquire("key", slowly) as value:
            found.append(value)
            all_have_it.wait(PATIENCE_SECONDS)

    threads = [threading.Thread(target=borrow) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert opening.wait(PATIENCE_SECONDS)
    may_go_on.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert len(found) == 3
    assert len(set(map(id, found))) == 1


def test_a_value_that_cannot_be_opened_leaves_nothing_behind() -> None:
    lending: RefCounted[str, str] = RefCounted(close=lambda _: None)

    def fail() -> str:
        raise OSError("no")

    with ExitStack() as stack, pytest.raises(OSError, match="no"):
        stack.enter_context(lending.acquire("key", fail))
    with lending.acquire("key", lambda: "fine") as value:
        assert value == "fine"
