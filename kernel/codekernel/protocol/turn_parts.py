"""The events of a turn as the parts of its reply, which are also in its history.

Imported with the first question.
"""

from dataclasses import replace

import msgspec
from msgspec import UNSET

from codekernel.domain import turn_events as happened
from codekernel.domain.chat import AgentMessage
from codekernel.domain.turn import Excerpt
from codekernel.errors import KernelError, NetworkError
from codekernel.protocol.envelope import ReplyData, convert_values
from codekernel.protocol.messages.agent_turns import (
    AgentMessageEntry,
    AgentPart,
    CallsPart,
    ChangeEntry,
    MessagePart,
    PermissionAnsweredPart,
    PermissionEntry,
    PermissionPart,
    RoundPart,
    SessionPart,
    SettledEntry,
    ToolDataEntry,
    ToolDataPart,
    ToolUseBlock,
)
from codekernel.protocol.messages.conversation import (
    SCORE_DIGITS,
    CitationEntry,
    ConversationPart,
    ResultContent,
    SpentEntry,
)


def build_part(event: happened.ShownEvent | happened.TransientEvent) -> ReplyData | KernelError:
    """An event of a turn as it is told; the error that a failed turn is answered with."""
    if isinstance(event, happened.TurnFailed):
        return (NetworkError if event.code == NetworkError.code else KernelError)(event.message)
    if isinstance(event, happened.TransientEvent):
        return build_agent_part(event)
    return build_conversation_part(event)


def build_message_entry(message: AgentMessage) -> AgentMessageEntry:
    """A message as it is told and kept."""
    return msgspec.convert(message.to_json(), AgentMessageEntry)


def build_agent_part(event: happened.TransientEvent) -> AgentPart:
    """An event of an agent's turn as it is told."""
    part: AgentPart
    match event:
        case happened.AgentMessageShown(message):
            part = MessagePart(content=build_message_entry(message))
        case happened.PermissionRequested():
            part = PermissionPart(content=convert_values(event, PermissionEntry))
        case happened.PermissionSettled():
            part = PermissionAnsweredPart(content=convert_values(event, SettledEntry))
        case happened.AgentSessionOpened():
            part = SessionPart(content=event.session, unknown_tools=list(event.unknown_tools))
        case happened.RoundStarted(number):
            part = RoundPart(content=number)
        case happened.AgentCallsQueued(calls):
            blocks = [ToolUseBlock(id=it.id, name=it.name, input=dict(it.input)) for it in calls]
            part = CallsPart(content=blocks)
        case happened.AgentToolDataShown(tool_use_id, data):
            part = ToolDataPart(content=ToolDataEntry(tool_use_id=tool_use_id, data=dict(data)))
    return part


def build_result_content(excerpt: Excerpt) -> ResultContent:
    """An excerpt as the front end and the history have it."""
    rounded = replace(excerpt, score=round(excerpt.score, SCORE_DIGITS))
    return convert_values(rounded, ResultContent)


def build_conversation_part(event: happened.ReplyEvent) -> ConversationPart:
    """An event of a turn as it is told."""
    match event:
        case happened.RetrievalAnnotated(purpose):
            return ConversationPart(type="annotation", content=purpose)
        case happened.SearchIssued(query):
            return ConversationPart(type="search", content=query)
        case happened.ExcerptRetrieved(excerpt):
            return ConversationPart(type="result", content=build_result_content(excerpt))
        case happened.RetrievalDone():
            return ConversationPart(type="doneRetrieval")
        case happened.AnswerDelta(text):
            return ConversationPart(type="answer", content=text)
        case happened.TurnDone(outcome, citations, masked, spent, worked, unsaved):
            return ConversationPart(
                type="done",
                outcome=outcome.value,
                citations=convert_values(citations, list[CitationEntry]),
                masked=masked,
                usage=convert_values(spent, SpentEntry),
                time=worked.time_ms if worked else UNSET,
                changes=convert_values(worked.changes, list[ChangeEntry]) if worked else UNSET,
                unsaved=unsaved or UNSET,
            )
