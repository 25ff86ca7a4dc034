"""Agent messages: starting and undoing an agent turn, permission requests.

The content blocks that are streamed.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import field

from codekernel.domain.chat import AgentMessage
from codekernel.domain.turn import FileChange, UndoResult
from codekernel.domain.turn_events import AgentMessageShown, TransientEvent
from codekernel.protocol.envelope import ConversationId, Message, ReplyData


class BeginAgentTurn(Message, frozen=True, tag="beginAgentTurn"):
    """Give an agent a task; its work is streamed as replies to this one request."""

    model_name: str
    conversation_id: ConversationId
    query: str


class Decision(StrEnum):
    """What a person says to a tool that waits."""

    ALLOW = "allow"
    ALLOW_TURN = "allowTurn"
    DENY = "deny"


class AnswerPermission(Message, frozen=True, tag="answerPermission"):
    """Say whether a tool that waits may be used; ``allowTurn``: and all others that do the same."""

    conversation_id: ConversationId
    tool_use_id: str
    decision: Decision


class UndoAgentTurn(Message, frozen=True, tag="undoAgentTurn"):
    """Undo what an agent did to files in one turn, which is known by its ``time``."""

    conversation_id: ConversationId
    time: int


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
    """What came of it; ``diff`` is an addition to the document."""

    tool_use_id: str = field(name="tool_use_id")
    content: str
    is_error: bool = field(name="is_error", default=False)
    diff: str = ""


class MessageMeta(ReplyData, frozen=True):
    """A later message of the same id takes the place of an earlier one, until it is complete."""

    id: str
    complete: bool


class AgentMessageEntry(ReplyData, frozen=True, omit_defaults=True):
    """An AgentMessage of document 004."""

    role: str
    content: list[TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock]
    meta: MessageMeta | None = None


class PermissionEntry(ReplyData, frozen=True):
    """A tool waits for a person; ``danger`` is ``deletes`` or ``runs``."""

    tool_use_id: str
    tool: str
    danger: str
    input: dict[str, Any]


class MessagePart(ReplyData, frozen=True, tag_field="type", tag="message"):
    """The ``data`` of a reply to ``beginAgentTurn``: something was said or done."""

    content: AgentMessageEntry


class PermissionPart(ReplyData, frozen=True, tag_field="type", tag="permission"):
    """The ``data`` of a reply to ``beginAgentTurn``: nothing goes on until it is answered."""

    content: PermissionEntry


class ChangeEntry(ReplyData, frozen=True):
    """What was done to a file: ``changed``, ``created``, ``deleted``, or ``folders`` were made."""

    file_path: str
    kind: str


class UndoneEntry(ReplyData, frozen=True, omit_defaults=True):
    """What became of a file: ``restored``, ``removed``, or ``kept`` for a reason."""

    file_path: str
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


def build_message_entry(message: AgentMessage) -> AgentMessageEntry:
    """A message as it is told and kept."""
    return msgspec.convert(message.to_json(), AgentMessageEntry)


def build_agent_part(event: TransientEvent) -> MessagePart | PermissionPart:
    """An event of an agent's turn as it is told."""
    if isinstance(event, AgentMessageShown):
        return MessagePart(content=build_message_entry(event.message))
    asked = PermissionEntry(
        tool_use_id=event.tool_use_id,
        tool=event.tool,
        danger=event.danger,
        input=dict(event.input),
    )
    return PermissionPart(content=asked)


def build_change_entries(changes: Iterable[FileChange]) -> list[ChangeEntry]:
    """Changes as they are told and kept."""
    return [ChangeEntry(file_path=each.path, kind=each.kind) for each in changes]


def build_undone_entries(undone: Iterable[UndoResult]) -> list[UndoneEntry]:
    """What became of files as it is told and kept."""
    return [
        UndoneEntry(file_path=each.path, state=each.state.value, reason=each.reason)
        for each in undone
    ]
