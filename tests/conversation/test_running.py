"""Turns under way: who is told how many there are."""

import pytest
from codekernel.conversation.conversations import RunningTurns
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import WrongParam


def test_how_many_turns_are_under_way_is_reported_whenever_it_changes() -> None:
    counts: list[int] = []
    running = RunningTurns(counts.append)
    running.start(1, CancelToken())
    running.start(2, CancelToken())
    with pytest.raises(WrongParam):
        running.start(2, CancelToken())
    running.finish(1)
    running.finish(2)
    assert counts == [1, 2, 1, 0]


def test_a_conversation_that_is_held_takes_no_question_and_one_under_way_is_not_held() -> None:
    running = RunningTurns()
    assert running.reserve(1)
    with pytest.raises(WrongParam):
        running.start(1, CancelToken())
    running.finish(1)
    running.start(1, CancelToken())
    assert not running.reserve(1)


def test_a_turn_that_was_stopped_before_it_began_begins_cancelled() -> None:
    running = RunningTurns()
    running.announce(7)
    assert running.stop(7)
    token = CancelToken()
    running.start(7, token)
    assert token.is_cancelled
