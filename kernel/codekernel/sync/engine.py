"""The sync engine: the sessions of this machine, their agents, and everybody who follows them."""

import logging
import os
import platform
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from codekernel import __version__
from codekernel.conversation.conversations import BUSY_MESSAGE
from codekernel.domain.agent_sessions import (
    NOTICE_INTERRUPTED,
    Actor,
    AgentKind,
    AgentSessionRecord,
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
    SyncEventKind,
)
from codekernel.domain.chat import ROLE_USER, AgentMessage, TextContent
from codekernel.domain.settings import OWN_AGENT
from codekernel.errors import (
    SessionBusy,
    SessionNotFound,
    Stopping,
    StorageError,
    WrongParam,
)
from codekernel.sync.agents import AgentRegistry, BackendPermission, BackendPool, McpServerCommand
from codekernel.sync.database import SyncDatabase, SyncFolder
from codekernel.sync.permissions import OnPermissionChanged, PermissionDesk
from codekernel.sync.runner import INTERRUPTED_TEXT, RunnerTable, TurnServices
from codekernel.sync.session_folder import answer_question
from codekernel.sync.state import ENGINE_DEVICE, MAX_KEPT_EVENTS, EventLog, EventReader, SyncState
from codekernel.sync.store import SyncStore, get_time_ms, make_id

logger = logging.getLogger(__name__)

# Characters; a page of a log is less. What is longer belongs into a file of the repository.
MAX_MESSAGE_CHARS = 100_000

MAX_NAME_CHARS = 200

# Of the first message, which names a session that has no name.
MAX_TITLE_CHARS = 60

# For running turns to end in order; those that do not are interrupted ones at the next start.
CLOSE_TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class EngineServices:
    """What the engine needs of the kernel, built by app/.

    ``open_folder`` checks a folder and registers it; ``on_idle`` is called when no
    agent works, ``on_permission`` when a permission is asked for or settled.
    """

    registry: AgentRegistry
    list_kinds: Callable[[], Sequence[AgentKind]]
    list_folders: Callable[[], Sequence[str]]
    open_folder: Callable[[str], Path]
    build_mcp_servers: Callable[[Path], Sequence[McpServerCommand]]
    on_idle: Callable[[], None] = lambda: None
    on_permission: OnPermissionChanged = lambda _, __: None
    on_deleted: Callable[[AgentSessionRecord], None] = lambda _: None
    on_turn_end: Callable[[AgentSessionRecord], None] = lambda _: None
    clock: Callable[[], int] = get_time_ms
    max_kept_events: int = MAX_KEPT_EVENTS


class SyncEngine:
    """AgentSessions of the kernel itself; safe to use from any thread."""

    def __init__(
        self, folder: SyncFolder, services: EngineServices, *, is_private: bool = False
    ) -> None:
        """Open the sessions and go on with what is queued. Raises StorageError.

        ``is_private``: a kernel beside the shared one, which keeps its sessions in memory.
        """
        self._folder = folder
        self._services = services
        if not is_private and not folder.lock.try_acquire_or_log():
            raise StorageError(
                "The agents of an earlier kernel are still at work: wait for their end, or stop"
                " them, and try again."
            )
        self._machine_id = _read_machine_id(folder, is_private=is_private)
        self._is_open = False
        path = None if is_private else folder.database_file
        self._database = SyncDatabase(path, self._handle_loss)
        store = SyncStore(self._database, services.clock)
        self._state = SyncState(store, EventLog(services.max_kept_events))
        self._is_open = True
        self.backends = BackendPool(
            services.registry, services.build_mcp_servers, self._handle_permission
        )
        self._desk = PermissionDesk(self._state, self._respond, services.on_permission)
        turns = TurnServices(self._state, self.backends, self._desk, self._handle_turn_end)
        self.runners = RunnerTable(turns, services.on_idle)
        self._recover()

    def get_machine(self) -> MachineRecord:
        """Return the machine, its agents and the folders that it knows."""
        return MachineRecord(
            self._machine_id,
            socket.gethostname(),
            platform.system().lower(),
            __version__,
            tuple(self._services.list_folders()),
            tuple(self._services.list_kinds()),
            details={"homeDir": str(Path.home()), "pid": os.getpid()},
        )

    def list_sessions(self) -> list[AgentSessionRecord]:
        """Return all sessions, the last used first."""
        with self._state.lock:
            return self._state.store.list_sessions()

    def get_session(self, session_id: str) -> AgentSessionRecord:
        """Return one session. Raises SessionNotFound."""
        return self._state.get_session(session_id)

    def start_session(self, new: NewSession) -> AgentSessionRecord:
        """Start a session, or return the one that has its tag. Raises KernelError."""
        with self._state.lock:
            known = self._state.store.find_tagged(new.tag)
        if known:
            return known
        self._services.registry.require(new.agent)
        folder = self._services.open_folder(new.folder)
        own_id = self.backends.begin_session(new.agent, folder)
        conversation_id = int(own_id) if new.agent == OWN_AGENT else 0
        with self._state.lock:
            if known := self._state.store.find_tagged(new.tag):  # another device was first
                return known
            return self.add_session(new, str(folder), own_id, conversation_id)

    def add_session(
        self, new: NewSession, folder: str, own_id: str, conversation_id: int
    ) -> AgentSessionRecord:
        """Add a session that its agent has begun already, and tell it."""
        now = get_time_ms()
        record = AgentSessionRecord(
            id=make_id(),
            agent=new.agent,
            machine_id=self._machine_id,
            folder=folder,
            name=new.name[:MAX_NAME_CHARS],
            created_at=now,
            updated_at=now,
            version=1,
            epoch=1,
            last_seq=0,
            model=new.model,
            permission_mode=new.permission_mode,
            conversation_id=conversation_id,
        )
        with self._state.lock:
            self._state.store.add_session(record, new.tag, own_id)
            self.backends.connect(new.agent, own_id, record.id)
            self._state.publish(SyncEventKind.SESSION_ADDED, record.id, session=record)
        return record

    def read_messages(
        self,
        session_id: str,
        *,
        before_seq: int | None = None,
        after_seq: int | None = None,
        limit: int = 50,
        epoch: int | None = None,
    ) -> MessagePage:
        """Return the newest messages, those before a number, or those after one."""
        with self._state.lock:
            return self._state.store.read_page(session_id, before_seq, after_seq, limit, epoch)

    def send_message(self, session_id: str, new: NewMessage) -> SessionMessage:
        """Queue a message for the agent; it is on disk when this returns."""
        if not new.text.strip():
            raise WrongParam("The message is empty: say what is to be done.")
        if len(new.text) > MAX_MESSAGE_CHARS:
            raise WrongParam(
                f"The message has {len(new.text)} characters, but at most {MAX_MESSAGE_CHARS} can"
                " be sent: put long texts into a file of the repository."
            )
        with self._state.lock:
            if known := self._state.store.find_local(session_id, new.local_id):
                return known
            record = self._state.store.get_session(session_id)
            if not record.name:
                self._state.update(session_id, name=_make_title(new.text))
            if record.is_archived:
                self._state.update(session_id, is_archived=False, is_active=True)
            message = AgentMessage(ROLE_USER, (TextContent(new.text),))
            queued = self._state.append(
                session_id, message, new.actor, local_id=new.local_id, invoked_at=None
            )
            self.runners.start(session_id)
            return queued

    def begin_turn(
        self,
        new: NewSession,
        conversation_id: int,
        message: NewMessage,
        accept: Callable[[], object],
    ) -> None:
        """Run a turn that a window begins in a conversation, before everything that waits there.

        ``accept`` reserves the conversation. Raises what it raises, and WrongParam while the agent
        works there.
        """
        with self._state.lock:
            record = self._state.store.find_conversation(new.agent, conversation_id)
            name = record.id if record else str(conversation_id)
            if not self.runners.reserve(name):
                raise WrongParam(BUSY_MESSAGE.format(conversation_id))
        first: SessionMessage | None = None
        is_started = False
        try:
            accept()
            with self._state.lock:
                if record is None:
                    new = replace(new, name=_make_title(message.text))
                    record = self.add_session(
                        new, new.folder, str(conversation_id), conversation_id
                    )
                content = AgentMessage(ROLE_USER, (TextContent(message.text),))
                # Never queued: a kernel that was killed in between would leave it to the next one.
                appended = self._state.append(record.id, content, message.actor)
                first = self._state.take(appended)
        finally:
            with self._state.lock:
                self.runners.release(name)
                waits = record and self._state.store.find_next_queued(record.id)
                if record and (first or waits):
                    is_started = self.runners.start(record.id, first)
        if not is_started:
            raise Stopping("The kernel ends: ask the next one.")

    def cancel_message(self, session_id: str, message_id: str) -> CancelOutcome:
        """Take back a message that still waits. Raises WrongParam if there is none."""
        with self._state.lock:
            self._state.store.get_session(session_id)
            found = self._state.store.find_message(session_id, message_id)
            if found is None:
                raise WrongParam(f"The session has no message {message_id[:80]!r}.")
            if found.invoked_at is not None:
                return CancelOutcome.INVOKED
            record = self._state.store.remove_message(found)
            local_ids = (found.local_id,) if found.local_id else ()
            publish = partial(self._state.publish, session_id=session_id)
            publish(SyncEventKind.MESSAGE_CANCELLED, message=found, local_ids=local_ids)
            publish(SyncEventKind.MESSAGES_INVALIDATED, session=record)
            return CancelOutcome.CANCELLED

    def answer_permission(
        self, session_id: str, permission_id: str, answer: PermissionAnswer
    ) -> SessionPermission:
        """Answer a permission. Raises PermissionAnswered if another device was first."""
        return self._desk.answer(session_id, permission_id, answer)

    def list_permissions(self, session_id: str) -> list[SessionPermission]:
        """Return every permission of a session with who answered it, oldest first."""
        with self._state.lock:
            return self._state.store.list_permissions(session_id)

    def stop_turn(self, session_id: str, actor: Actor) -> None:
        """Stop what the agent does; waiting messages stay. Stopping nothing succeeds."""
        with self._state.lock:
            self._state.store.get_session(session_id)
        self.runners.stop(session_id, actor)

    def update_session(
        self,
        session_id: str,
        *,
        name: str | None = None,
        model: str | None = None,
        permission_mode: PermissionMode | None = None,
        is_archived: bool | None = None,
    ) -> AgentSessionRecord:
        """Change what a person may change; archiving ends a running turn."""
        changes = {
            "name": name if name is None else name[:MAX_NAME_CHARS],
            "model": model,
            "permission_mode": permission_mode,
            "is_archived": is_archived,
            "is_active": None if is_archived is None else not is_archived,
        }
        given = {key: value for key, value in changes.items() if value is not None}
        record = self._state.update(session_id, **given)
        if is_archived:
            self.runners.stop(session_id, Actor(ENGINE_DEVICE))
        return record

    def delete_session(self, session_id: str) -> None:
        """Delete a session and its messages. Raises SessionBusy while its agent works."""
        with self._state.lock:
            if self.runners.has(session_id):
                raise SessionBusy("The agent of this session works: stop it, and delete it then.")
            record = self._state.store.get_session(session_id)
            own_id = self._state.store.get_backend_session(session_id)
            self._state.store.delete_session(session_id)
            self.backends.forget_session(record.agent, own_id)
            self._state.publish(SyncEventKind.SESSION_REMOVED, session_id)
        self._services.on_deleted(record)

    def ask_folder(self, session_id: str, question: FolderQuestion) -> FolderAnswer:
        """Answer a question about the folder of a session."""
        return answer_question(Path(self.get_session(session_id).folder), question)

    def subscribe(
        self, deliver: Callable[[SyncEvent], None], after: EventPosition | None = None
    ) -> EventSubscription:
        """Deliver the events after a position, if they are still known, then all that follow."""
        return self._state.log.subscribe(deliver, after)

    def open_reader(self, after: EventPosition | None) -> tuple[EventReader, EventPosition, bool]:
        """Return the same as an iterator, its position, and whether nothing is missing."""
        return self._state.log.open_reader(after)

    def close(self) -> None:
        """Interrupt the running turns and close everything; queued messages stay on disk."""
        self.runners.close(CLOSE_TIMEOUT_SECONDS)
        self._state.log.restart()
        self.backends.close()
        self._database.close()
        self._folder.lock.release()

    def _recover(self) -> None:
        """End the turns that an earlier kernel left, then go on with what is queued."""
        for record in self._state.store.list_sessions():
            if record.is_thinking:
                self._desk.cancel_open(record.id)
                self._state.append_notice(record.id, NOTICE_INTERRUPTED, INTERRUPTED_TEXT)
                self._state.update(record.id, is_thinking=False)
            if record.queued_count and not record.is_archived:
                self.runners.start(record.id)

    def _handle_permission(self, session_id: str, asked: BackendPermission) -> None:
        self._desk.open(session_id, asked)

    def _respond(self, session_id: str, permission_id: str, answer: PermissionAnswer) -> None:
        kind = self._state.get_session(session_id).agent
        self.backends.respond(
            kind, permission_id, allowed=answer.allowed, option_id=answer.option_id
        )

    def _handle_turn_end(self, session_id: str) -> None:
        with suppress(SessionNotFound):
            self._services.on_turn_end(self._state.get_session(session_id))

    def _handle_loss(self) -> None:
        """The database was damaged and is empty now: everybody reads anew."""
        if self._is_open:
            with self._state.lock:
                self._state.store.forget_all()
                self._state.log.restart()


def _read_machine_id(folder: SyncFolder, *, is_private: bool) -> str:
    try:
        return folder.read_machine_id()
    except StorageError:
        if is_private:  # nothing of it stays
            return make_id()
        raise


def _make_title(text: str) -> str:
    """Return the beginning of the first line."""
    line = next((each.strip() for each in text.splitlines() if each.strip()), "")
    return line if len(line) <= MAX_TITLE_CHARS else f"{line[:MAX_TITLE_CHARS].rstrip()}..."
