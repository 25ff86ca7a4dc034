"""Turns of an agent in a conversation: tasks, what is shown of them, permissions, undo."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, field

from codekernel.protocol.envelope import ConversationId, Message, ReplyData

# It is kept with its turn.
MAX_TURN_KEY_CHARS = 200

TurnKey = Annotated[str, Meta(max_length=MAX_TURN_KEY_CHARS)]


class Danger(StrEnum):
    """What a tool needs a permission for."""

    DELETES = "deletes"
    RUNS = "runs"


class BeginAgentTurn(Message, frozen=True, tag="beginAgentTurn"):
    """Give an agent a task; its work is streamed as replies to this one request.

    ``session`` goes on with that one; ``tools`` are all it gets; what is not in ``allow`` is asked
    for, or refused without ``asks``; ``detailed``: with its session, its rounds, whole results and
    their data; ``within``: the repository is only reached through this folder; ``planFirst``: no
    tool runs before the model has decided on a plan; ``reviews``: each edit waits as a diff.
    """

    model_name: str
    conversation_id: ConversationId
    query: str
    session: str = ""
    tools: list[str] | None = None
    allow: list[Danger] = field(default_factory=list)
    asks: bool = True
    rounds: Annotated[int, Meta(ge=1)] | None = None
    detailed: bool = False
    within: str = ""
    plan_first: bool = False
    reviews: bool = False
    turn_key: TurnKey = ""


class FollowConversation(Message, frozen=True, tag="followConversation"):
    """Show the turn that runs in a conversation: everything so far, then what comes."""

    conversation_id: ConversationId


class Decision(StrEnum):
    """What a person says to a tool that waits."""

    ALLOW = "allow"
    ALLOW_TURN = "allowTurn"
    ALLOW_RULE = "allowRule"
    DENY = "deny"


class AnswerPermission(Message, frozen=True, tag="answerPermission"):
    """Say whether a tool that waits may be used.

    ``allowTurn``: and all others that do the same; ``allowRule``: and whatever its rule allows,
    from now on. ``hunks``: of an edit that is allowed only these, by their place in the diff.
    """

    conversation_id: ConversationId
    tool_use_id: str
    decision: Decision
    hunks: list[Annotated[int, Meta(ge=0)]] | None = None


class UndoAgentTurn(Message, frozen=True, tag="undoAgentTurn"):
    """Undo what an agent did to files in one turn, which is known by its ``time``."""

    conversation_id: ConversationId
    time: int


class UndoAgentSession(Message, frozen=True, tag="undoAgentSession"):
    """Undo what an agent did to files in all turns of a session."""

    session: str


class TextBlock(ReplyData, frozen=True, tag_field="type", tag="text"):
    """What is said."""

    text: str


class ThinkingBlock(ReplyData, frozen=True, tag_field="type", tag="thinking"):
    """What the agent thinks to itself."""

    thinking: str


class ToolUseBlock(ReplyData, frozen=True, tag_field="type", tag="tool_use"):
    """A tool is being used, until a result of the same id comes."""

    id: str
    name: str
    input: dict[str, Any]


class ToolResultBlock(
    ReplyData, frozen=True, omit_defaults=True, tag_field="type", tag="tool_result"
):
    """What came of it; ``diff`` and ``denied`` are additions to the document."""

    tool_use_id: str = field(name="tool_use_id")
    content: str
    is_error: bool = field(name="is_error", default=False)
    diff: str = ""
    denied: bool = False


class MessageMeta(ReplyData, frozen=True):
    """A later message of the same id takes the place of an earlier one, until it is complete."""

    id: str
    complete: bool


class AgentMessageEntry(ReplyData, frozen=True, omit_defaults=True):
    """An AgentMessage of document 004."""

    role: str
    content: list[TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock]
    meta: MessageMeta | None = None


class PermissionEntry(ReplyData, frozen=True, omit_defaults=True):
    """A tool waits for a person; ``danger`` is ``deletes`` or ``runs``, ``writes`` for an edit.

    ``diff`` is the edit; ``rule`` is what ``allowRule`` would allow from now on.
    """

    tool_use_id: str
    tool: str
    danger: str
    input: dict[str, Any]
    diff: str = ""
    rule: str = ""


class MessagePart(ReplyData, frozen=True, tag_field="type", tag="message"):
    """The ``data`` of a reply to ``beginAgentTurn``: something was said or done."""

    content: AgentMessageEntry


class PermissionPart(ReplyData, frozen=True, tag_field="type", tag="permission"):
    """The ``data`` of a reply to ``beginAgentTurn``: nothing goes on until it is answered."""

    content: PermissionEntry


class SettledEntry(ReplyData, frozen=True):
    """A tool that waits no longer; ``device`` and ``name`` of who answered, empty if nobody did."""

    tool_use_id: str
    allowed: bool
    device: str
    name: str


class PermissionAnsweredPart(ReplyData, frozen=True, tag_field="type", tag="permissionAnswered"):
    """The ``data`` of a reply to ``beginAgentTurn``: a permission was answered, on any device."""

    content: SettledEntry


class SessionPart(ReplyData, frozen=True, tag_field="type", tag="session"):
    """The first ``data`` of a detailed turn; ``unknownTools`` were asked for."""

    content: str
    unknown_tools: list[str]


class RoundPart(ReplyData, frozen=True, tag_field="type", tag="round"):
    """The ``data`` of a detailed turn when the model is called."""

    content: int


class CallsPart(ReplyData, frozen=True, tag_field="type", tag="calls"):
    """The ``data`` of a detailed turn: the model's answer uses these tools after the last one."""

    content: list[ToolUseBlock]


class ToolDataEntry(ReplyData, frozen=True):
    """What a tool has for programs; an edit of a file has what documents 000 and 001 say."""

    tool_use_id: str
    data: dict[str, Any]


class ToolDataPart(ReplyData, frozen=True, tag_field="type", tag="toolData"):
    """The ``data`` of a detailed turn before the result of a tool that has some."""

    content: ToolDataEntry


class TaskPart(ReplyData, frozen=True, tag_field="type", tag="task"):
    """The first ``data`` of a reply to ``followConversation``: what was asked, and of whom."""

    content: str
    is_agent: bool


AgentPart = (
    TaskPart
    | MessagePart
    | PermissionPart
    | PermissionAnsweredPart
    | SessionPart
    | RoundPart
    | CallsPart
    | ToolDataPart
)


class ChangeEntry(ReplyData, frozen=True):
    """What was done to a file: ``changed``, ``created``, ``deleted``, or ``folders`` were made."""

    path: str = field(name="filePath")
    kind: str


class UndoneEntry(ReplyData, frozen=True, omit_defaults=True):
    """What became of a file: ``restored``, ``removed``, or ``kept`` for a reason."""

    path: str = field(name="filePath")
    state: str
    reason: str = ""


class UndoAgentTurnReply(ReplyData, frozen=True):
    """One entry for each file that the turn had changed."""

    files: list[UndoneEntry]


class AgentEntry(ReplyData, frozen=True, omit_defaults=True):
    """What the history keeps of an agent's turn; ``undone`` if it was."""

    session: str
    first_change: int
    messages: list[AgentMessageEntry]
    changes: list[ChangeEntry] = field(default_factory=list)
    undone: list[UndoneEntry] | None = None


class GetPermissionRules(Message, frozen=True, tag="getPermissionRules"):
    """List what agents may do here without being asked, because somebody allowed it for good."""


class PermissionRuleEntry(ReplyData, frozen=True):
    """A rule: the command, or the folder in which files may be deleted."""

    id: str
    danger: str
    rule: str


class GetPermissionRulesReply(ReplyData, frozen=True):
    """The rules of this repository, oldest first."""

    rules: list[PermissionRuleEntry]


class DeletePermissionRule(Message, frozen=True, tag="deletePermissionRule"):
    """Be asked again about what a rule allowed."""

    id: str
