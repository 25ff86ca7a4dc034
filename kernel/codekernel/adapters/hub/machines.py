"""The sessions of all machines as one: each call goes to the machine that has the session.

The kernel of the hub's own machine is the first; others connect and come and go. What a machine
told last is remembered, so that its sessions are still listed, as inactive, while it is away.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from codekernel.adapters.hub.contract.frames import (
    render_activity,
    render_machine_event,
    render_sync_event,
)
from codekernel.adapters.hub.events.log import HubEvent, HubEventLog
from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    AgentSessions,
    CancelOutcome,
    EventPosition,
    EventSubscription,
    MachineRecord,
    MessagePage,
    NewMessage,
    NewSession,
    PermissionAnswer,
    PermissionMode,
    SessionMessage,
    SessionPermission,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.session_folder import FolderAnswer, FolderQuestion
from codekernel.errors import (
    KernelError,
    KernelUnavailable,
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
class _AttachedMachine:
    """A machine, and what it told last; ``owner`` is the device that it was paired as."""

    record: MachineRecord
    owner: str
    sessions: AgentSessions | None = None
    known: dict[str, AgentSessionRecord] = field(default_factory=dict)
    position: EventPosition | None = None
    last_seen: float = _FOREVER
    close: Callable[[], None] = lambda: None


class HubMachines:
    """All machines and their sessions, as ``HubSessions`` declares; safe to use from any thread."""

    def __init__(self, log: HubEventLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._machines: dict[str, _AttachedMachine] = {}
        self._lock = threading.RLock()

    # Machines that come and go.

    def attach(self, sessions: AgentSessions, owner: str = "") -> str:
        """Add a machine, or go on with one that was away; return its id.

        ``owner`` is the device that it was paired as, empty for the hub's own machine. Raises
        WrongParam if the machine claims to be another one.
        """
        record = sessions.get_machine()
        with self._lock:
            machine = self._machines.setdefault(record.id, _AttachedMachine(record, owner))
            if machine.owner != owner:
                raise WrongParam("Another machine has this id at the hub.")
            machine.record = replace(record, is_active=True)
            machine.sessions = sessions
            machine.last_seen = self._clock() if owner else _FOREVER
        self._follow(machine, sessions)
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

    # What is declared by HubSessions.

    def list_machines(self) -> list[MachineRecord]:
        """Return all machines, the hub's own first."""
        with self._lock:
            machines = sorted(self._machines.values(), key=lambda each: bool(each.owner))
            return [each.record for each in machines]

    def get_machine_record(self, machine_id: str) -> MachineRecord:
        """Return one machine. Raises MachineNotFound."""
        return self._find_machine(machine_id).record

    def get_machine(self) -> MachineRecord:
        """Return the hub's own machine. Raises MachineNotFound."""
        return self._find_own().record

    def list_sessions(self) -> list[AgentSessionRecord]:
        """Return the sessions of all machines, the last used first."""
        with self._lock:
            machines = list(self._machines.values())
        records = [record for each in machines for record in self._list_of(each)]
        return sorted(records, key=lambda record: -record.updated_at)

    def get_session(self, session_id: str) -> AgentSessionRecord:
        """Return one session; of a machine that is away, as it was known last."""
        return self.get_session_and_machine(session_id)[0]

    def get_session_and_machine(self, session_id: str) -> tuple[AgentSessionRecord, MachineRecord]:
        """Return one session and its machine. Raises SessionNotFound."""
        machine = self._find_owner(session_id)
        if machine.sessions is None:
            return machine.known[session_id], replace(machine.record, is_active=False)
        try:
            record = machine.sessions.get_session(session_id)
        except (KernelUnavailable, MachineOffline):
            return machine.known[session_id], replace(machine.record, is_active=False)
        return self._claim(machine, record), machine.record

    def start_session(self, new: NewSession) -> AgentSessionRecord:
        """Start a session on the hub's own machine."""
        return self._start(self._find_own(), new)

    def start_session_on(self, machine_id: str, new: NewSession) -> AgentSessionRecord:
        """Start a session on a machine. Raises MachineNotFound or MachineOffline."""
        return self._start(self._find_machine(machine_id), new)

    def read_messages(
        self,
        session_id: str,
        *,
        before_seq: int | None = None,
        after_seq: int | None = None,
        limit: int = 50,
        epoch: int | None = None,
    ) -> MessagePage:
        """Return messages of a session."""
        return self._reach(session_id).read_messages(
            session_id, before_seq=before_seq, after_seq=after_seq, limit=limit, epoch=epoch
        )

    def send_message(self, session_id: str, new: NewMessage) -> SessionMessage:
        """Queue a message for the agent."""
        return self._reach(session_id).send_message(session_id, new)

    def cancel_message(self, session_id: str, message_id: str) -> CancelOutcome:
        """Take back a message that still waits."""
        return self._reach(session_id).cancel_message(session_id, message_id)

    def answer_permission(
        self, session_id: str, permission_id: str, answer: PermissionAnswer
    ) -> SessionPermission:
        """Answer a permission. Raises PermissionAnswered if another device was first."""
        return self._reach(session_id).answer_permission(session_id, permission_id, answer)

    def stop_turn(self, session_id: str, actor: Actor) -> None:
        """Stop what the agent does."""
        self._reach(session_id).stop_turn(session_id, actor)

    def update_session(
        self,
        session_id: str,
        *,
        name: str | None = None,
        model: str | None = None,
        permission_mode: PermissionMode | None = None,
        is_archived: bool | None = None,
    ) -> AgentSessionRecord:
        """Change what a person may change."""
        machine = self._find_owner(session_id)
        record = self._reach(session_id).update_session(
            session_id,
            name=name,
            model=model,
            permission_mode=permission_mode,
            is_archived=is_archived,
        )
        return self._claim(machine, record)

    def delete_session(self, session_id: str) -> None:
        """Delete a session and its messages."""
        self._reach(session_id).delete_session(session_id)

    def ask_folder(self, session_id: str, question: FolderQuestion) -> FolderAnswer:
        """Answer a question about the folder of a session, on its machine."""
        return self._reach(session_id).ask_folder(session_id, question)

    def subscribe(
        self, deliver: Callable[[SyncEvent], None], after: EventPosition | None = None
    ) -> EventSubscription:
        """Deliver the events of all machines, with the hub's own numbers."""

        def listen(event: HubEvent) -> None:
            if event.sync is not None:
                deliver(replace(event.sync, id=event.id))

        is_ours = after is not None and after.run == self._log.epoch
        last, is_resumed, close = self._log.listen(
            listen, after.id if after is not None and is_ours else None
        )
        return EventSubscription(EventPosition(self._log.epoch, last), is_resumed, close)

    # How a session is found, and how a machine is followed.

    def _find_machine(self, machine_id: str) -> _AttachedMachine:
        with self._lock:
            machine = self._machines.get(machine_id)
        if machine is None:
            raise MachineNotFound("The hub knows no such machine.")
        return machine

    def _find_own(self) -> _AttachedMachine:
        with self._lock:
            own = next((each for each in self._machines.values() if not each.owner), None)
        if own is None:
            raise MachineNotFound("The hub has no machine of its own.")
        return own

    def _find_owner(self, session_id: str) -> _AttachedMachine:
        with self._lock:
            for machine in self._machines.values():
                if session_id in machine.known:
                    return machine
            machines = list(self._machines.values())
        for machine in machines:  # it was started a moment ago
            self._list_of(machine)
            if session_id in machine.known:
                return machine
        raise SessionNotFound("No machine has such a session.")

    def _reach(self, session_id: str) -> AgentSessions:
        return _require_connected(self._find_owner(session_id))

    def _start(self, machine: _AttachedMachine, new: NewSession) -> AgentSessionRecord:
        return self._claim(machine, _require_connected(machine).start_session(new))

    def _list_of(self, machine: _AttachedMachine) -> list[AgentSessionRecord]:
        if machine.sessions is not None:
            try:
                return [self._claim(machine, each) for each in machine.sessions.list_sessions()]
            except KernelError as error:
                logger.warning("the sessions of %s cannot be read: %s", machine.record.host, error)
        with self._lock:
            return list(machine.known.values())

    def _claim(self, machine: _AttachedMachine, record: AgentSessionRecord) -> AgentSessionRecord:
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

    def _follow(self, machine: _AttachedMachine, sessions: AgentSessions) -> None:
        """Subscribe to a machine's events, from where they were left."""
        known = dict(machine.known)

        def deliver(event: SyncEvent) -> None:
            if machine.sessions is not sessions:
                return
            if event.session_id:
                self._note_event(machine, event)
            else:  # its kernel was replaced, and events are missing
                self._tell_changes(machine, sessions, dict(machine.known))

        subscription = sessions.subscribe(deliver, after=machine.position)
        with self._lock:
            machine.close = subscription.close
            if machine.position is None or not subscription.is_resumed:
                machine.position = subscription.position
        if not subscription.is_resumed:
            self._tell_changes(machine, sessions, known)

    def _tell_changes(
        self,
        machine: _AttachedMachine,
        sessions: AgentSessions,
        known: dict[str, AgentSessionRecord],
    ) -> None:
        """Tell what changed while a machine was away, where its events are lost."""
        present = {each.id: self._claim(machine, each) for each in sessions.list_sessions()}
        for session_id in known.keys() - present.keys():
            self._note_event(machine, SyncEvent(0, SyncEventKind.SESSION_REMOVED, session_id))
        for record in present.values():
            before = known.get(record.id)
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

    def _note_event(self, machine: _AttachedMachine, event: SyncEvent) -> None:
        """Take over an event of a machine, on the machine's thread."""
        if event.session is not None:
            try:
                event = replace(event, session=self._claim(machine, event.session))
            except WrongParam as error:
                logger.warning("%s: %s", machine.record.host, error)
                return
        with self._lock:
            if event.id and machine.position is not None:
                machine.position = replace(machine.position, id=event.id)
            if event.kind is SyncEventKind.SESSION_REMOVED:
                machine.known.pop(event.session_id, None)
            elif event.session_id not in machine.known:
                return
            machine.last_seen = max(machine.last_seen, self._clock())
        self._append(machine, event)

    def _append(self, machine: _AttachedMachine, event: SyncEvent) -> None:
        is_growing = event.kind is SyncEventKind.MESSAGE_GROWING
        self._log.append(
            render_sync_event(event, machine.record),
            session_id=event.session_id,
            sync=event,
            replaces=event.session_id if is_growing else "",
        )

    def _tell_machine(self, machine: _AttachedMachine) -> None:
        """Tell that a machine came or went, and what that makes of its sessions."""
        record = machine.record
        self._log.append(render_machine_event(record), machine_id=record.id)
        with self._lock:
            known = list(machine.known.values())
        for session in known:
            self._log.append(render_activity(session, record), session_id=session.id)


def _require_connected(machine: _AttachedMachine) -> AgentSessions:
    if machine.sessions is None:
        raise MachineOffline(f"{machine.record.host} is not connected to the hub.")
    return machine.sessions
