"""Numbered events: replay, gaps, coalescing, and readers that do not read."""

import itertools

import pytest
from codekernel.domain.agent_sessions import (
    Actor,
    EventPosition,
    SessionMessage,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.chat import ROLE_ASSISTANT, AgentMessage, TextContent
from codekernel.sync.state import (
    MAX_KEPT_BYTES,
    MAX_KEPT_EVENTS,
    MAX_UNREAD_EVENTS,
    EventLog,
    EventReader,
)


def received(number: int, text: str = "") -> SyncEvent:
    message = AgentMessage(ROLE_ASSISTANT, (TextContent(text),))
    kept = SessionMessage(f"m{number}", "s", number, 0, message, Actor("agent"))
    return SyncEvent(0, SyncEventKind.MESSAGE_RECEIVED, "s", message=kept)


def growing(text: str, session_id: str = "s") -> SyncEvent:
    message = AgentMessage(ROLE_ASSISTANT, (TextContent(text),))
    kept = SessionMessage("m", session_id, 0, 0, message, Actor("agent"))
    return SyncEvent(0, SyncEventKind.MESSAGE_GROWING, session_id, message=kept)


def take(reader: EventReader, count: int) -> list[SyncEvent]:
    return list(itertools.islice(reader, count))


def test_a_reader_gets_what_comes_after_it_in_order() -> None:
    log = EventLog()
    log.publish(received(1))
    reader, position, is_resumed = log.open_reader(None)
    assert (position.id, is_resumed) == (1, False)
    for number in range(2, 6):
        log.publish(received(number))
    assert [event.id for event in take(reader, 4)] == [2, 3, 4, 5]


def test_events_are_replayed_from_a_position() -> None:
    log = EventLog()
    _, start, _ = log.open_reader(None)
    for number in range(5000):
        log.publish(received(number))
    reader, position, is_resumed = log.open_reader(EventPosition(start.run, 904))
    assert (position.id, is_resumed) == (904, True)
    log.publish(received(5001))
    assert [event.id for event in take(reader, 4097)] == list(range(905, 5002))


@pytest.mark.parametrize(("run", "number"), [("other", 3), ("", 7), ("", -2)])
def test_an_unknown_position_is_a_gap(run: str, number: int) -> None:
    log = EventLog()
    _, start, _ = log.open_reader(None)
    for each in range(5):
        log.publish(received(each))
    _, position, is_resumed = log.open_reader(EventPosition(run or start.run, number))
    assert (position, is_resumed) == (EventPosition(start.run, 5), False)


def test_the_log_is_bounded_by_number_and_by_bytes() -> None:
    log = EventLog()
    _, start, _ = log.open_reader(None)
    for number in range(MAX_KEPT_EVENTS + 10):
        log.publish(received(number))
    assert not log.open_reader(EventPosition(start.run, 9))[2]
    assert log.open_reader(EventPosition(start.run, 10))[2]
    large = "x" * (MAX_KEPT_BYTES // 4)
    for number in range(8):
        log.publish(received(number, large))
    assert log._kept_bytes <= MAX_KEPT_BYTES
    assert len(log._kept) <= 4


def test_growing_messages_are_coalesced_and_never_replayed() -> None:
    log = EventLog()
    reader, start, _ = log.open_reader(None)
    for number in range(10_000):
        log.publish(growing(str(number)))
    log.publish(growing("other", "t"))
    grown = {event.session_id: event for event in take(reader, 2)}
    assert grown["s"] == growing("9999")
    log.publish(growing("the beginning"))
    log.publish(received(1))
    assert [event.kind for event in take(reader, 1)] == [SyncEventKind.MESSAGE_RECEIVED]
    late, _, is_resumed = log.open_reader(start)
    assert is_resumed
    log.publish(received(2))
    assert [event.id for event in take(late, 2)] == [1, 2]


@pytest.mark.slow
def test_a_reader_that_does_not_read_is_cut_off_and_others_go_on() -> None:
    log = EventLog()
    (slow, _, _), (quick, _, _) = log.open_reader(None), log.open_reader(None)
    for number in range(1, MAX_UNREAD_EVENTS + 2):
        log.publish(received(number))
        assert [event.id for event in take(quick, 1)] == [number]
    assert list(slow) == []
    log.publish(received(0))
    assert [event.id for event in take(quick, 1)] == [MAX_UNREAD_EVENTS + 2]


def test_a_new_run_ends_every_reader() -> None:
    log = EventLog()
    reader, position, _ = log.open_reader(None)
    log.publish(received(1))
    log.restart()
    assert list(reader) == []
    assert not log.open_reader(position)[2]
