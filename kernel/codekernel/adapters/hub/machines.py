"""The sessions of all machines as one: each call goes to the machine that has the session."""

from collections.abc import Callable
from dataclasses import replace

from codekernel.adapters.hub.events import HubEvent, HubEventLog
from codekernel.adapters.hub.machine_table import AttachedMachine, MachineTable
from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    AgentSessions,
    CancelOutcome,
    EventPosition,
    EventSubscription,
    FolderAnswer,
    FolderQuestion,
    MachineRecord,
    MessagePage,
    NewMessage,
    NewSession,
    PermissionAnswer,
    PermissionMode,
    SessionMessage,
    SessionPermission,
    SyncEvent,
)
from codekernel.errors import KernelUnavailable, MachineOffline, SessionNotFound


class HubMachines:
    """The sessions of all machines, as ``HubSessions`` declares; safe to use from any thread."""

    def __init__(self, table: MachineTable, log: HubEventLog) -> None:
        self._table = table
        self._log = log

    def list_machines(self) -> list[MachineRecord]:
        """Return all machines, the hub's own first."""
        return [each.record for each in self._table.list_machines()]

    def get_machine_record(self, machine_id: str) -> MachineRecord:
        """Return one machine. Raises MachineNotFound."""
        return self._table.find_machine(machine_id).record

    def get_machine(self) -> MachineRecord:
        """Return the hub's own machine. Raises MachineNotFound."""
        return self._table.find_own().record

    def list_sessions(self) -> list[AgentSessionRecord]:
        """Return the sessions of all machines, the last used first."""
        machines = self._table.list_machines()
        records = [record for each in machines for record in self._table.list_of(each)]
        return sorted(records, key=lambda record: -record.updated_at)

    def get_session(self, session_id: str) -> AgentSessionRecord:
        """Return one session; of a machine that is away, as it was known last."""
        return self.get_session_and_machine(session_id)[0]

    def get_session_and_machine(self, session_id: str) -> tuple[AgentSessionRecord, MachineRecord]:
        """Return one session and its machine. Raises SessionNotFound."""
        machine = self._table.find_owner(session_id)
        if machine.sessions is not None:
            try:
                record = machine.sessions.get_session(session_id)
            except (KernelUnavailable, MachineOffline):
                pass
            else:
                return self._table.claim(machine, record), machine.record
        known = machine.known.get(session_id)
        if known is None:
            raise SessionNotFound("The session was deleted.")
        return known, replace(machine.record, is_active=False)

    def start_session(self, new: NewSession) -> AgentSessionRecord:
        """Start a session on the hub's own machine."""
        return self._start(self._table.find_own(), new)

    def start_session_on(self, machine_id: str, new: NewSession) -> AgentSessionRecord:
        """Start a session on a machine. Raises MachineNotFound or MachineOffline."""
        return self._start(self._table.find_machine(machine_id), new)

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
        machine = self._table.find_owner(session_id)
        record = self._reach(session_id).update_session(
            session_id,
            name=name,
            model=model,
            permission_mode=permission_mode,
            is_archived=is_archived,
        )
        return self._table.claim(machine, record)

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

    def _reach(self, session_id: str) -> AgentSessions:
        return self._table.find_owner(session_id).require_sessions()

    def _start(self, machine: AttachedMachine, new: NewSession) -> AgentSessionRecord:
        return self._table.claim(machine, machine.require_sessions().start_session(new))
