"""Turns under way: who is told how many there are."""

import pytest

from kernel.conversation.running import Running
from kernel.domain.cancel import CancelToken
from kernel.errors import WrongParam


def test_how_many_turns_are_under_way_is_told_whenever_it_changes() -> None:
    told: list[int] = []
    running = Running()
    running.on_crowd = told.append
    running.enter(1, CancelToken())
    running.enter(2, CancelToken())
    with pytest.raises(WrongParam):
        running.enter(2, CancelToken())
    running.leave(1)
    running.leave(2)
    assert told == [1, 2, 1, 0]


def test_a_conversation_that_is_held_takes_no_question_and_one_under_way_is_not_held() -> None:
    running = Running()
    assert running.hold(1)
    with pytest.raises(WrongParam):
        running.enter(1, CancelToken())
    running.leave(1)
    running.enter(1, CancelToken())
    assert not running.hold(1)


def test_a_turn_that_was_stopped_before_it_began_begins_cancelled() -> None:
    running = Running()
    running.announce(7)
    assert running.stop(7)
    token = CancelToken()
    running.enter(7, token)
    assert token.cancelled
