"""Messages of agent sessions: one for each method of AgentSessions, and the stream of events."""

from typing import Annotated, Any

from msgspec import Meta, field

from codekernel.protocol.envelope import Message, ReplyData


class ActorEntry(ReplyData, frozen=True):
    """A device, such as ``webapp``, ``cli``, ``lark`` or ``telegram-bot``, and its user."""

    device: str
    name: str = ""


class SessionMessageEntry(ReplyData, frozen=True):
    """``message`` is an AgentMessage; ``invokedAt`` is null while it waits for the agent."""

    id: str
    session_id: str
    seq: int
    created_at: int
    message: dict[str, Any]
    actor: ActorEntry
    local_id: str = ""
    invoked_at: int | None = None


class OptionEntry(ReplyData, frozen=True):
    """An answer that a foreign agent offers."""

    id: str
    name: str
    kind: str


class SessionPermissionEntry(ReplyData, frozen=True):
    """``status``: pending, approved, denied or canceled."""

    id: str
    tool: str
    arguments: dict[str, Any]
    created_at: int
    danger: str = ""
    options: list[OptionEntry] = field(default_factory=list)
    status: str = "pending"
    option_id: str = ""
    for_turn: bool = False
    answered_at: int | None = None
    answered_by: ActorEntry | None = None
    tool_use_id: str = ""


class TaskEntry(ReplyData, frozen=True):
    """A task of the agent's plan."""

    text: str
    status: str


class AgentSessionEntry(ReplyData, frozen=True):
    """A session; ``permissions`` are those of its last turn."""

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
    is_active: bool = field(name="active", default=True)
    is_thinking: bool = field(name="thinking", default=False)
    is_archived: bool = field(name="archived", default=False)
    model: str = ""
    permission_mode: str = "default"
    conversation_id: int = 0
    queued_count: int = 0
    plan: list[TaskEntry] = field(default_factory=list)
    permissions: list[SessionPermissionEntry] = field(default_factory=list)


class AgentKindEntry(ReplyData, frozen=True):
    """An agent; ``unavailable`` says why no session can be started with it."""

    name: str
    title: str
    is_own: bool = field(name="own")
    models: list[str] = field(default_factory=list)
    unavailable: str = ""
    can_undo: bool = False


class MachineEntry(ReplyData, frozen=True):
    """The machine, the folders that it knows, and its agents."""

    id: str
    host: str
    platform: str
    version: str
    folders: list[str] = field(default_factory=list)
    agents: list[AgentKindEntry] = field(default_factory=list)
    is_active: bool = field(name="active", default=True)
    details: dict[str, Any] = field(default_factory=dict)


class GetAgentMachine(Message, frozen=True, tag="getAgentMachine"):
    """Ask for this machine and its agents."""


class GetAgentSessions(Message, frozen=True, tag="getAgentSessions"):
    """List the sessions, the last used first."""


class GetAgentSessionsReply(ReplyData, frozen=True):
    """All sessions."""

    sessions: list[AgentSessionEntry]


class GetAgentSession(Message, frozen=True, tag="getAgentSession"):
    """Read the state of one session."""

    id: str


class StartAgentSession(Message, frozen=True, tag="startAgentSession"):
    """Start an agent in a folder, or find the session with this ``tag``."""

    folder: str
    actor: ActorEntry
    agent: str = "codekernel"
    model: str = ""
    name: str = ""
    permission_mode: str = "default"
    tag: str = ""


class ReadAgentMessages(Message, frozen=True, tag="readAgentMessages"):
    """Read the newest messages, those before a number, or those after one."""

    id: str
    before_seq: int | None = None
    after_seq: int | None = None
    limit: Annotated[int, Meta(ge=1)] = 50
    epoch: int | None = None


class ReadAgentMessagesReply(ReplyData, frozen=True):
    """In the order of their numbers; ``reset`` if ``epoch`` was not the present one."""

    messages: list[SessionMessageEntry]
    epoch: int
    has_more: bool
    reset: bool


class SendAgentMessage(Message, frozen=True, tag="sendAgentMessage"):
    """Queue a message for the agent; a second one with the same ``localId`` is the first."""

    id: str
    text: str
    actor: ActorEntry
    local_id: str = ""


class CancelAgentMessage(Message, frozen=True, tag="cancelAgentMessage"):
    """Take back a message that still waits."""

    id: str
    message_id: str


class CancelAgentMessageReply(ReplyData, frozen=True):
    """``cancelled``, or ``invoked`` if the agent has begun with it."""

    outcome: str


class AnswerAgentPermission(Message, frozen=True, tag="answerAgentPermission"):
    """Answer a permission; the first answer wins, and may be sent again under its ``answerKey``."""

    id: str
    permission_id: str
    allowed: bool
    actor: ActorEntry
    for_turn: bool = False
    option_id: str = ""
    answer_key: str = ""


class GetAgentPermissions(Message, frozen=True, tag="getAgentPermissions"):
    """Read the log of permissions: what was asked, and who answered it where."""

    id: str


class GetAgentPermissionsReply(ReplyData, frozen=True):
    """Oldest first."""

    permissions: list[SessionPermissionEntry]


class StopAgentTurn(Message, frozen=True, tag="stopAgentTurn"):
    """Stop what the agent does; messages that wait stay."""

    id: str
    actor: ActorEntry


class UpdateAgentSession(Message, frozen=True, tag="updateAgentSession"):
    """Change what is given."""

    id: str
    name: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    is_archived: bool | None = field(name="archived", default=None)


class DeleteAgentSession(Message, frozen=True, tag="deleteAgentSession"):
    """Delete a session and its messages."""

    id: str


class AskAgentFolder(Message, frozen=True, tag="askAgentFolder"):
    """Ask about the folder of a session; ``kind`` says what."""

    id: str
    kind: str
    path: str = ""
    is_staged: bool = field(name="staged", default=False)
    query: str = ""
    limit: Annotated[int, Meta(ge=1)] = 200


class FolderEntryData(ReplyData, frozen=True):
    """A file or folder; ``path`` is below the folder of the session."""

    name: str
    path: str
    type: str
    size: int = 0
    modified_at: int = 0


class AskAgentFolderReply(ReplyData, frozen=True):
    """``error`` is a sentence if there is no answer; ``content`` is base64."""

    error: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    content: str = ""
    size: int = 0
    modified_at: int = 0
    entries: list[FolderEntryData] = field(default_factory=list)


class PositionEntry(ReplyData, frozen=True):
    """The last event that a client has."""

    run: str
    id: int


class FollowAgentSessions(Message, frozen=True, tag="followAgentSessions"):
    """Stream every event after a position, as replies to this one request."""

    after: PositionEntry | None = None


class FollowingPart(ReplyData, frozen=True, tag_field="type", tag="following"):
    """The first ``data``; unless ``resumed``, everything must be read anew."""

    position: PositionEntry
    is_resumed: bool = field(name="resumed")


class EventPart(ReplyData, frozen=True, tag_field="type", tag="event"):
    """One event; ``id`` is 0 for those that are never replayed."""

    id: int
    kind: str
    session_id: str
    session: AgentSessionEntry | None = None
    message: SessionMessageEntry | None = None
    local_ids: list[str] = field(default_factory=list)


class FollowingEnded(ReplyData, frozen=True, tag_field="type", tag="done"):
    """The last ``data``: the client reads too slowly, or the kernel ends; follow again."""


SyncPart = FollowingPart | EventPart | FollowingEnded
