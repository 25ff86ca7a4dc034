import logging

import pytest
from codekernel.dispatch.notifications import PendingReplies


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_ids_are_never_repeated_and_start_where_told() -> None:
    pending = PendingReplies(first_id=5)
    assert [pending.expect("a"), pending.allocate_callback_id(), pending.expect("b")] == [5, 6, 7]


def test_a_reply_is_settled_once() -> None:
    pending = PendingReplies(first_id=1)
    callback_id = pending.expect("ready")
    assert pending.settle(callback_id) == "ready"
    assert pending.settle(callback_id) is None
    assert pending.settle(99) is None


def test_what_is_never_confirmed_is_given_up_in_time_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    pending = PendingReplies(first_id=1, timeout_seconds=60, clock=clock)
    pending.expect("ready")
    clock.now += 30
    late = pending.expect("sessionPrepared")
    assert pending.seconds_to_next_deadline() == 30
    clock.now += 30
    with caplog.at_level(logging.WARNING):
        assert pending.expire() == ["ready"]
    assert "ready" in caplog.text
    assert pending.seconds_to_next_deadline() == 30
    assert pending.settle(late) == "sessionPrepared"
    assert pending.seconds_to_next_deadline() is None


def test_what_is_overdue_together_is_given_up_together_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    pending = PendingReplies(first_id=1, timeout_seconds=60, clock=clock)
    clock.now += 0.1
    for _ in range(500):  # within the same second
        pending.expect("embeddingStatus")
        clock.now += 0.001
    assert pending.expire() == []
    patience = pending.seconds_to_next_deadline()
    assert patience is not None
    clock.now += patience
    with caplog.at_level(logging.WARNING):
        assert pending.expire() == ["embeddingStatus"] * 500
    [line] = caplog.messages
    assert "500" in line
    assert pending.seconds_to_next_deadline() is None
