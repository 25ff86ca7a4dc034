"""Agent sessions as the wire has them, and back."""

from typing import Any

from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    EventPosition,
    FolderAnswer,
    MachineRecord,
    MessagePage,
    SessionMessage,
    SessionPermission,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.chat import parse_message
from codekernel.protocol.envelope import Converted, convert_values, decode_data
from codekernel.protocol.messages import agent_sessions as entries


def build_session(record: AgentSessionRecord) -> entries.AgentSessionEntry:
    """A session as it is told."""
    return convert_values(record, entries.AgentSessionEntry)


def build_session_message(message: SessionMessage) -> entries.SessionMessageEntry:
    """A message as it is told."""
    return entries.SessionMessageEntry(
        id=message.id,
        session_id=message.session_id,
        seq=message.seq,
        created_at=message.created_at,
        message=message.message.to_json(),
        actor=entries.ActorEntry(device=message.actor.device, name=message.actor.name),
        local_id=message.local_id,
        invoked_at=message.invoked_at,
    )


def build_page(page: MessagePage) -> entries.ReadAgentMessagesReply:
    """A page of messages as it is told."""
    return entries.ReadAgentMessagesReply(
        messages=[build_session_message(each) for each in page.messages],
        epoch=page.epoch,
        has_more=page.has_more,
        reset=page.reset,
    )


def build_event(event: SyncEvent) -> entries.EventPart:
    """An event as it is told."""
    return entries.EventPart(
        id=event.id,
        kind=event.kind.value,
        session_id=event.session_id,
        session=build_session(event.session) if event.session else None,
        message=build_session_message(event.message) if event.message else None,
        local_ids=list(event.local_ids),
    )


def parse_session(data: object) -> AgentSessionRecord:
    """Parse what ``build_session`` made."""
    return _parse(data, entries.AgentSessionEntry, AgentSessionRecord)


def parse_machine(data: object) -> MachineRecord:
    """Parse a machine."""
    return _parse(data, entries.MachineEntry, MachineRecord)


def parse_permission(data: object) -> SessionPermission:
    """Parse a permission."""
    return _parse(data, entries.SessionPermissionEntry, SessionPermission)


def parse_folder_answer(data: object) -> FolderAnswer:
    """Parse the answer to a question about a folder."""
    return _parse(data, entries.AskAgentFolderReply, FolderAnswer)


def parse_position(data: object) -> EventPosition:
    """Parse a position."""
    return _parse(data, entries.PositionEntry, EventPosition)


def parse_session_message(data: object) -> SessionMessage:
    """Parse what ``build_session_message`` made."""
    return _convert_message(decode_data(data, entries.SessionMessageEntry))


def parse_page(data: object) -> MessagePage:
    """Parse what ``build_page`` made."""
    page = decode_data(data, entries.ReadAgentMessagesReply)
    messages = tuple(map(_convert_message, page.messages))
    return MessagePage(messages, page.epoch, page.has_more, page.reset)


def parse_event(data: dict[str, Any]) -> SyncEvent:
    """Parse what ``build_event`` made."""
    part = decode_data(data, entries.EventPart)
    return SyncEvent(
        part.id,
        SyncEventKind(part.kind),
        part.session_id,
        convert_values(part.session, AgentSessionRecord) if part.session else None,
        _convert_message(part.message) if part.message else None,
        tuple(part.local_ids),
    )


def _convert_message(entry: entries.SessionMessageEntry) -> SessionMessage:
    return SessionMessage(
        entry.id,
        entry.session_id,
        entry.seq,
        entry.created_at,
        parse_message(entry.message),
        Actor(entry.actor.device, entry.actor.name),
        entry.local_id,
        entry.invoked_at,
    )


def _parse(data: object, declaration: type[Any], kind: type[Converted]) -> Converted:
    return convert_values(decode_data(data, declaration), kind)
