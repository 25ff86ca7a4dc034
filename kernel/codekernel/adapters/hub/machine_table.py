"""The machines whose sessions the hub shows: how each is attached, followed and remembered.

The kernel of the hub's own machine is the first; others connect and come and go. What a machine
told last is remembered, so that its sessions are still listed, as inactive, while it is away.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from codekernel.adapters.hub.contract.sessions import (
    render_activity,
    render_machine_event,
    render_sync_event,
)
from codekernel.adapters.hub.events import HubEventLog
from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    AgentSessions,
    EventPosition,
    MachineRecord,
    SyncEvent,
    SyncEventKind,
)
from codekernel.errors import (
    KernelError,
    MachineNotFound,
    MachineOffline,
    SessionNotFound,
    WrongParam,
)

logger = logging.getLogger(__name__)

# A machine that was not heard of for so long is shown as away, as the contract says.
MACHINE_TIMEOUT_SECONDS = 45.0

_FOREVER = float("inf")


@dataclass(slots=True)
class AttachedMachine:
    """A machine, and what it told last; ``owner`` is the device that it was paired as.

    ``known`` has the newest states, also those that a request brought; ``told`` those that devices
    have heard of, by which is found what they missed.
    """

    record: MachineRecord
    owner: str
    sessions: AgentSessions | None = None
    known: dict[str, AgentSessionRecord] = field(default_factory=dict)
    told: dict[str, AgentSessionRecord] = field(default_factory=dict)
    position: EventPosition | None = None
    last_seen: float = _FOREVER
    close: Callable[[], None] = lambda: None

    def require_sessions(self) -> AgentSessions:
        """Return its sessions. Raises MachineOffline."""
        if self.sessions is None:
            raise MachineOffline(f"{self.record.host} is not connected to the hub.")
        return self.sessions


class MachineTable:
    """All machines and what is known of their sessions; safe to use from any thread."""

    def __init__(self, log: HubEventLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._machines: dict[str, AttachedMachine] = {}
        self._lock = threading.RLock()

    def attach(self, sessions: AgentSessions, owner: str = "") -> str:
        """Add a machine, or go on with one that was away; return its id.

        ``owner`` is the device that it was paired as, empty for the hub's own machine. Raises
        WrongParam if the machine claims to be another one.
        """
        record = sessions.get_machine()
        with self._lock:
            machine = self._machines.setdefault(record.id, AttachedMachine(record, owner))
            if machine.owner != owner:
                raise WrongParam("Another machine has this id at the hub.")
            machine.record = replace(record, is_active=True)
            machine.sessions = sessions
            machine.last_seen = self._clock() if owner else _FOREVER
        try:
            self._follow(machine, sessions)
        except KernelError:  # it is gone already
            self.detach(record.id, sessions)
            raise
        self._tell_machine(machine)
        return record.id

    def detach(self, machine_id: str, sessions: AgentSessions) -> None:
        """Note that the connection of a machine is gone; it may come back."""
        with self._lock:
            machine = self._machines.get(machine_id)
            if machine is None or machine.sessions is not sessions:
                return
            machine.sessions = None
            close = machine.close
        close()

    def note_alive(self, machine_id: str) -> None:
        """Note that a machine was heard of."""
        with self._lock:
            machine = self._machines.get(machine_id)
            if machine is not None:
                machine.last_seen = self._clock()

    def check_activity(self) -> None:
        """Tell of the machines that were not heard of for too long."""
        limit = self._clock() - MACHINE_TIMEOUT_SECONDS
        with self._lock:
            gone = [
                each
                for each in self._machines.values()
                if each.record.is_active and each.last_seen < limit
            ]
            for machine in gone:
                machine.record = replace(machine.record, is_active=False)
        for machine in gone:
            self._tell_machine(machine)

    def forget_owners(self, paired_ids: Collection[str]) -> None:
        """Forget the machines that are not paired any longer."""
        with self._lock:
            gone = [
                each
                for each in self._machines.values()
                if each.owner and each.owner not in paired_ids
            ]
            for machine in gone:
                del self._machines[machine.record.id]
        for machine in gone:
            machine.close()
            machine.record = replace(machine.record, is_active=False)
            self._tell_machine(machine)
            for session_id in machine.known:
                self._append(machine, SyncEvent(0, SyncEventKind.SESSION_REMOVED, session_id))

    def list_machines(self) -> list[AttachedMachine]:
        """Return all machines, the hub's own first."""
        with self._lock:
            return sorted(self._machines.values(), key=lambda each: bool(each.owner))

    def find_machine(self, machine_id: str) -> AttachedMachine:
        """Return one machine. Raises MachineNotFound."""
        with self._lock:
            machine = self._machines.get(machine_id)
        if machine is None:
            raise MachineNotFound("The hub knows no such machine.")
        return machine

    def find_own(self) -> AttachedMachine:
        """Return the hub's own machine. Raises MachineNotFound."""
        with self._lock:
            own = next((each for each in self._machines.values() if not each.owner), None)
        if own is None:
            raise MachineNotFound("The hub has no machine of its own.")
        return own

    def find_owner(self, session_id: str) -> AttachedMachine:
        """Return the machine that has a session. Raises SessionNotFound."""
        with self._lock:
            for machine in self._machines.values():
                if session_id in machine.known:
                    return machine
            machines = list(self._machines.values())
        for machine in machines:  # it was started a moment ago
            self.list_of(machine)
            if session_id in machine.known:
                return machine
        raise SessionNotFound("No machine has such a session.")

    def list_of(self, machine: AttachedMachine) -> list[AgentSessionRecord]:
        """Return the sessions of a machine, as they are known last if it is away."""
        if machine.sessions is not None:
            try:
                return [self.claim(machine, each) for each in machine.sessions.list_sessions()]
            except KernelError as error:
                logger.warning("the sessions of %s cannot be read: %s", machine.record.host, error)
        with self._lock:
            return list(machine.known.values())

    def claim(self, machine: AttachedMachine, record: AgentSessionRecord) -> AgentSessionRecord:
        """Remember the newest state of a session as one of this machine, and return it."""
        record = replace(record, machine_id=machine.record.id)
        with self._lock:
            is_foreign = any(
                record.id in each.known for each in self._machines.values() if each is not machine
            )
            if is_foreign:
                raise WrongParam("A machine tells of a session of another one.")
            known = machine.known.get(record.id)
            if known is None or known.version <= record.version:
                machine.known[record.id] = record
        return record

    def _follow(self, machine: AttachedMachine, sessions: AgentSessions) -> None:
        """Subscribe to a machine's events, from where they were left."""
        told = dict(machine.told)

        def deliver(event: SyncEvent) -> None:
            if machine.sessions is not sessions:
                return
            try:
                if event.session_id:
                    self._note_event(machine, event)
                else:  # its kernel was replaced, and events are missing
                    self._tell_changes(machine, sessions, dict(machine.told))
            except KernelError as error:
                logger.warning("an event of %s was not told: %s", machine.record.host, error)

        subscription = sessions.subscribe(deliver, after=machine.position)
        with self._lock:
            machine.close = subscription.close
            if machine.position is None or not subscription.is_resumed:
                machine.position = subscription.position
        if not subscription.is_resumed:
            self._tell_changes(machine, sessions, told)

    def _tell_changes(
        self,
        machine: AttachedMachine,
        sessions: AgentSessions,
        told: dict[str, AgentSessionRecord],
    ) -> None:
        """Tell what changed since ``told``, while a machine was away and its events were lost."""
        present = {each.id: self.claim(machine, each) for each in sessions.list_sessions()}
        with self._lock:
            machine.told = dict(present)
        for session_id in told.keys() - present.keys():
            self._note_event(machine, SyncEvent(0, SyncEventKind.SESSION_REMOVED, session_id))
        for record in present.values():
            before = told.get(record.id)
            if before is None:
                kinds = [SyncEventKind.SESSION_ADDED]
            elif (before.version, before.last_seq, before.epoch) != (
                (record.version, record.last_seq, record.epoch)
            ):
                kinds = [SyncEventKind.SESSION_UPDATED, SyncEventKind.MESSAGES_INVALIDATED]
            else:
                continue
            for kind in kinds:
                self._append(machine, SyncEvent(0, kind, record.id, session=record))

    def _note_event(self, machine: AttachedMachine, event: SyncEvent) -> None:
        """Take over an event of a machine, on the machine's thread."""
        if event.session is not None:
            event = replace(event, session=self.claim(machine, event.session))
        with self._lock:
            if event.id and machine.position is not None:
                machine.position = replace(machine.position, id=event.id)
            if event.kind is SyncEventKind.SESSION_REMOVED:
                machine.known.pop(event.session_id, None)
                machine.told.pop(event.session_id, None)
            elif event.session_id not in machine.known:
                return
            elif event.session is not None:
                machine.told[event.session_id] = event.session
            machine.last_seen = max(machine.last_seen, self._clock())
        self._append(machine, event)

    def _append(self, machine: AttachedMachine, event: SyncEvent) -> None:
        is_growing = event.kind is SyncEventKind.MESSAGE_GROWING
        self._log.append(
            render_sync_event(event, machine.record),
            session_id=event.session_id,
            sync=event,
            replaces=event.session_id if is_growing else "",
        )

    def _tell_machine(self, machine: AttachedMachine) -> None:
        """Tell that a machine came or went, and what that makes of its sessions."""
        record = machine.record
        self._log.append(render_machine_event(record), machine_id=record.id)
        with self._lock:
            known = list(machine.known.values())
        for session in known:
            self._log.append(render_activity(session, record), session_id=session.id)
