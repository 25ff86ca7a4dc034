"""Machines that are attached, lost and found again, with real engines."""

import queue
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from codekernel.adapters.hub.events import HubEventLog
from codekernel.adapters.hub.machine_table import MachineTable
from codekernel.adapters.hub.machines import HubMachines
from codekernel.domain.agent_sessions import (
    EventPosition,
    EventSubscription,
    SyncEvent,
    SyncEventKind,
)
from codekernel.errors import KernelUnavailable, MachineOffline, SessionNotFound, WrongParam
from support.scripted_agent import PHONE, WAIT_SECONDS, EngineWorld, open_world


class TwoMachines:
    """A hub without a server, and two engines."""

    def __init__(self, own: EngineWorld, other: EngineWorld) -> None:
        self.own, self.other = own, other
        log = HubEventLog()
        self.table = MachineTable(log)
        self.machines = HubMachines(self.table, log)
        self.told: queue.SimpleQueue[SyncEvent] = queue.SimpleQueue()
        self.table.attach(own.engine)
        self.other_id = self.table.attach(other.engine, "owner")
        self.start = self.machines.subscribe(self.told.put).position

    def wait_for(self, kind: SyncEventKind) -> SyncEvent:
        while True:
            event = self.told.get(timeout=WAIT_SECONDS)
            if event.kind is kind:
                return event


@pytest.fixture
def two(tmp_path: Path) -> Iterator[TwoMachines]:
    with ExitStack() as opened:
        worlds: list[EngineWorld] = []
        for name in ("own", "other"):
            user_data = tmp_path / name / "userData"
            user_data.mkdir(parents=True)
            worlds.append(opened.enter_context(open_world(user_data)))
        yield TwoMachines(*worlds)


def test_each_call_goes_to_the_machine_of_the_session(two: TwoMachines) -> None:
    own, other = two.own.start(name="own"), two.other.start(name="other")
    assert {each.id for each in two.machines.list_sessions()} == {own.id, other.id}
    two.machines.update_session(other.id, name="renamed")
    assert two.other.engine.get_session(other.id).name == "renamed"
    assert two.own.engine.get_session(own.id).name == "own"
    with pytest.raises(SessionNotFound):
        two.machines.get_session("none")
    assert [each.id for each in two.machines.list_machines()][1] == two.other_id
    assert two.machines.get_machine().id != two.other_id


def test_a_machine_cannot_be_another_one(two: TwoMachines) -> None:
    with pytest.raises(WrongParam, match="Another machine"):
        two.table.attach(two.own.engine, "owner")
    with pytest.raises(WrongParam, match="Another machine"):
        two.table.attach(two.other.engine, "thief")


def test_a_machine_cannot_have_the_session_of_another_one(two: TwoMachines) -> None:
    session = two.own.start(name="own")
    two.wait_for(SyncEventKind.SESSION_ADDED)
    thief = two.table.find_machine(two.other_id)
    with pytest.raises(WrongParam, match="session of another"):
        two.table.claim(thief, replace(session, name="stolen", version=99))
    assert two.machines.get_session(session.id).name == "own"
    assert two.machines.get_session(session.id).machine_id != two.other_id


def test_a_machine_that_goes_while_it_is_attached_is_not_connected(
    two: TwoMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = two.other.start()
    two.wait_for(SyncEventKind.SESSION_ADDED)
    two.table.detach(two.other_id, two.other.engine)

    def lose(*_: object, **__: object) -> NoReturn:
        raise KernelUnavailable("the connection has ended")

    with monkeypatch.context() as patched:
        patched.setattr(two.other.engine, "subscribe", lose)
        with pytest.raises(KernelUnavailable):
            two.table.attach(two.other.engine, "owner")
    with pytest.raises(MachineOffline):
        two.machines.stop_turn(session.id, PHONE)
    two.table.attach(two.other.engine, "owner")
    two.machines.stop_turn(session.id, PHONE)


def test_a_machine_comes_back_and_nothing_is_missing(two: TwoMachines) -> None:
    session = two.other.start()
    two.wait_for(SyncEventKind.SESSION_ADDED)
    two.table.detach(two.other_id, two.other.engine)
    assert two.machines.get_session(session.id).id == session.id
    with pytest.raises(MachineOffline):
        two.machines.update_session(session.id, name="x")
    two.other.engine.update_session(session.id, name="first")
    two.other.engine.update_session(session.id, name="second")
    two.table.attach(two.other.engine, "owner")
    names = [two.wait_for(SyncEventKind.SESSION_UPDATED).session for _ in range(2)]
    assert [each.name for each in names if each] == ["first", "second"]


def test_a_machine_whose_events_are_lost_tells_what_changed(two: TwoMachines) -> None:
    kept, changed, deleted = (two.other.start(name=name) for name in ("a", "b", "c"))
    for _ in range(3):
        two.wait_for(SyncEventKind.SESSION_ADDED)
    two.table.detach(two.other_id, two.other.engine)
    two.other.engine.update_session(changed.id, name="changed")
    two.other.engine.delete_session(deleted.id)
    added = two.other.start(name="new")
    two.other.engine._state.log.restart()
    two.table.attach(two.other.engine, "owner")
    told = [two.told.get(timeout=WAIT_SECONDS) for _ in range(4)]
    assert {(each.kind, each.session_id) for each in told} == {
        (SyncEventKind.SESSION_REMOVED, deleted.id),
        (SyncEventKind.SESSION_ADDED, added.id),
        (SyncEventKind.SESSION_UPDATED, changed.id),
        (SyncEventKind.MESSAGES_INVALIDATED, changed.id),
    }
    assert kept.id in {each.id for each in two.machines.list_sessions()}


def test_what_changed_while_events_were_lost_is_told_though_it_was_asked_for_before(
    two: TwoMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new kernel answers a device before it is followed."""
    engine = two.other.engine
    delivering: list[Callable[[SyncEvent], None]] = []

    def subscribe(
        deliver: Callable[[SyncEvent], None], after: EventPosition | None = None
    ) -> EventSubscription:
        delivering.append(deliver)
        return engine._state.log.subscribe(deliver, after)

    two.table.detach(two.other_id, engine)
    monkeypatch.setattr(engine, "subscribe", subscribe)
    two.table.attach(engine, "owner")
    session = two.other.start(name="before")
    two.wait_for(SyncEventKind.SESSION_ADDED)
    two.table.find_machine(two.other_id).close()  # its events end
    engine.update_session(session.id, name="after")
    assert two.machines.get_session(session.id).name == "after"
    delivering[0](SyncEvent(0, SyncEventKind.MESSAGES_INVALIDATED, ""))
    told = two.wait_for(SyncEventKind.SESSION_UPDATED)
    assert told.session is not None
    assert told.session.name == "after"
    assert two.wait_for(SyncEventKind.MESSAGES_INVALIDATED).session_id == session.id
    delivering[0](SyncEvent(0, SyncEventKind.MESSAGES_INVALIDATED, ""))
    assert two.told.empty()


def test_a_chat_goes_on_where_it_was(two: TwoMachines) -> None:
    first = two.own.start(name="first")
    event = two.wait_for(SyncEventKind.SESSION_ADDED)
    position = EventPosition(two.start.run, event.id)
    second = two.other.start(name="second")
    two.wait_for(SyncEventKind.SESSION_ADDED)
    missed: queue.SimpleQueue[SyncEvent] = queue.SimpleQueue()
    resumed = two.machines.subscribe(missed.put, position)
    assert resumed.is_resumed
    assert missed.get(timeout=WAIT_SECONDS).session_id == second.id
    assert first.id != second.id
    assert not two.machines.subscribe(missed.put, EventPosition("another", 1)).is_resumed
    resumed.close()
