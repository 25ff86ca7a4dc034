"""Agent sessions as every device sees them: the values of the sync engine of document 004.

A session is one agent in one folder of one machine. Its messages are numbered 1, 2, 3, ... without
a gap; whoever missed some reads on from the last number it has. ``AgentSessions`` is what pages,
terminals, phones and chats use; the kernel implements it, and a client of the kernel does so over
the local endpoint. Questions about the folder of a session are answered as values, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from codekernel.domain.chat import AgentMessage
from codekernel.domain.settings import OWN_AGENT


class FolderQuestionKind(StrEnum):
    """What is asked: changes as git tells them, files, folders."""

    STATUS = "git-status"
    CHANGED_LINES = "git-diff-numstat"
    DIFF = "git-diff-file"
    FILE = "file"
    FIND = "files"
    LIST = "directory"


@dataclass(frozen=True, slots=True)
class FolderQuestion:
    """``path`` is below the folder; ``is_staged`` is about what will be committed."""

    kind: FolderQuestionKind
    path: str = ""
    is_staged: bool = False
    query: str = ""
    limit: int = 200


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file or folder; ``path`` is below the folder of the session, the time in milliseconds."""

    name: str
    path: str
    type: str
    size: int = 0
    modified_at: int = 0


@dataclass(frozen=True, slots=True)
class FolderAnswer:
    """``error`` is a sentence if there is no answer; ``content`` is base64."""

    error: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    content: str = ""
    size: int = 0
    modified_at: int = 0
    entries: tuple[FolderEntry, ...] = ()


# In ``meta`` of a message of the engine itself, which is for a person: what it is about.
META_NOTICE = "notice"
NOTICE_INTERRUPTED, NOTICE_STOPPED = "interrupted", "stopped"


class Device(StrEnum):
    """Where a message or an answer comes from, as the published contract calls it."""

    PAGE = "webapp"
    TERMINAL = "cli"
    LARK = "lark"
    TELEGRAM = "telegram-bot"
    EDITOR = "acp"
    SERVICE = "kode"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something, for the log of a session: a device and the name of its user."""

    device: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """One message; ``invoked_at`` is None while a user's message waits for the agent."""

    id: str
    session_id: str
    seq: int
    created_at: int
    message: AgentMessage
    actor: Actor
    local_id: str = ""
    invoked_at: int | None = None


class PermissionStatus(StrEnum):
    """What became of a permission."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """One of the answers that a foreign agent offers; ``kind`` is ACP's."""

    id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class SessionPermission:
    """A permission of a session: asked once, answered once, by any device."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    created_at: int
    danger: str = ""
    options: tuple[PermissionOption, ...] = ()
    status: PermissionStatus = PermissionStatus.PENDING
    option_id: str = ""
    for_turn: bool = False
    answered_at: int | None = None
    answered_by: Actor | None = None
    # The call that waits, as the message has it that shows the call.
    tool_use_id: str = ""
    # Of the answer that counts.
    answer_key: str = ""


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """``for_turn``: also all further calls of its kind; ``option_id``: of a foreign agent.

    ``answer_key``: the device's own id of this answer, which is not repeated.
    """

    allowed: bool
    actor: Actor
    for_turn: bool = False
    option_id: str = ""
    answer_key: str = ""


class PermissionMode(StrEnum):
    """What an agent may do without being asked."""

    ASK = "default"
    READ_ONLY = "read-only"
    ALLOW_ALL = "yolo"


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """A task of the agent's plan."""

    text: str
    status: str


@dataclass(frozen=True, slots=True)
class AgentSessionRecord:
    """The state of a session.

    ``version`` grows with every change, so that an older state never replaces a newer one;
    ``epoch`` grows when messages were removed or replaced: whoever has an older one reads anew.
    """

    id: str
    agent: str
    machine_id: str
    folder: str
    name: str
    created_at: int
    updated_at: int
    version: int
    epoch: int
    last_seq: int
    is_active: bool = True
    is_thinking: bool = False
    is_archived: bool = False
    model: str = ""
    permission_mode: PermissionMode = PermissionMode.ASK
    conversation_id: int = 0
    queued_count: int = 0
    plan: tuple[PlanEntry, ...] = ()
    permissions: tuple[SessionPermission, ...] = ()

    @property
    def pending_permissions(self) -> tuple[SessionPermission, ...]:
        """The permissions that wait for an answer, oldest first."""
        return tuple(it for it in self.permissions if it.status is PermissionStatus.PENDING)


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Messages in the order of their numbers; ``reset`` if the epoch asked for is not the present.

    ``has_more``: there are further ones in the direction that was asked for.
    """

    messages: tuple[SessionMessage, ...]
    epoch: int
    has_more: bool
    reset: bool = False


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a session is started with; ``tag`` names it, so that it is not started twice."""

    folder: str
    actor: Actor
    agent: str = OWN_AGENT
    model: str = ""
    name: str = ""
    permission_mode: PermissionMode = PermissionMode.ASK
    tag: str = ""


@dataclass(frozen=True, slots=True)
class NewMessage:
    """What a user says; a second one with the same ``local_id`` is the first."""

    text: str
    actor: Actor
    local_id: str = ""


class CancelOutcome(StrEnum):
    """What became of the wish to take a message back."""

    CANCELLED = "cancelled"
    INVOKED = "invoked"


class SyncEventKind(StrEnum):
    """What a device is told, in the words of the published contract.

    ``message-growing`` is an addition: a message that is not complete, and not kept.
    """

    SESSION_ADDED = "session-added"
    SESSION_UPDATED = "session-updated"
    SESSION_REMOVED = "session-removed"
    MESSAGE_RECEIVED = "message-received"
    MESSAGE_GROWING = "message-growing"
    MESSAGES_CONSUMED = "messages-consumed"
    MESSAGE_CANCELLED = "message-cancelled"
    MESSAGES_INVALIDATED = "messages-invalidated"


@dataclass(frozen=True, slots=True)
class SyncEvent:
    """One change; ``id`` grows by one with each, and is 0 for those that are never replayed."""

    id: int
    kind: SyncEventKind
    session_id: str
    session: AgentSessionRecord | None = None
    message: SessionMessage | None = None
    local_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EventPosition:
    """The last event that a device has; of another ``run`` of the engine it cannot be replayed."""

    run: str
    id: int


@dataclass(frozen=True, slots=True)
class EventSubscription:
    """``is_resumed``: nothing is missing since the position given; else everything is read anew."""

    position: EventPosition
    is_resumed: bool
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class AgentKind:
    """An agent that sessions can be started with."""

    name: str
    title: str
    is_own: bool
    models: tuple[str, ...] = ()
    unavailable: str = ""
    can_undo: bool = False


@dataclass(frozen=True, slots=True)
class MachineRecord:
    """A machine whose kernel runs agents; ``folders`` are those that sessions may start in."""

    id: str
    host: str
    platform: str
    version: str
    folders: tuple[str, ...] = ()
    agents: tuple[AgentKind, ...] = ()
    is_active: bool = True
    details: Mapping[str, Any] = field(default_factory=dict)


class AgentSessions(Protocol):
    """The sessions of one machine; safe to use from any thread.

    Every method may raise KernelError; SessionNotFound for an unknown session.
    """

    def get_machine(self) -> MachineRecord:
        """Return the machine, its agents and the folders that it knows."""

    def list_sessions(self) -> list[AgentSessionRecord]:
        """Return all sessions, the last used first."""

    def get_session(self, session_id: str) -> AgentSessionRecord:
        """Return one session."""

    def start_session(self, new: NewSession) -> AgentSessionRecord:
        """Start a session, or return the one that has its tag."""

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

    def send_message(self, session_id: str, new: NewMessage) -> SessionMessage:
        """Queue a message for the agent; it is on disk when this returns."""

    def cancel_message(self, session_id: str, message_id: str) -> CancelOutcome:
        """Take back a message that still waits."""

    def answer_permission(
        self, session_id: str, permission_id: str, answer: PermissionAnswer
    ) -> SessionPermission:
        """Answer a permission. Raises PermissionAnswered if another device was first."""

    def stop_turn(self, session_id: str, actor: Actor) -> None:
        """Stop what the agent does; waiting messages stay. Stopping nothing succeeds."""

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

    def delete_session(self, session_id: str) -> None:
        """Delete a session and its messages. Raises SessionBusy while its agent works."""

    def ask_folder(self, session_id: str, question: FolderQuestion) -> FolderAnswer:
        """Answer a question about the folder of a session; nothing is changed."""

    def subscribe(
        self, deliver: Callable[[SyncEvent], None], after: EventPosition | None = None
    ) -> EventSubscription:
        """Deliver the events after a position, if they are still known, then all that follow.

        ``deliver`` is called on a thread of the engine and must not block.
        """
