"""Agent sessions that every device sees: one handler for each method of AgentSessions."""

from collections.abc import Iterator

from codekernel.dispatch.routing import Lane
from codekernel.domain.agent_sessions import (
    Actor,
    EventPosition,
    FolderQuestion,
    FolderQuestionKind,
    NewMessage,
    NewSession,
    PermissionAnswer,
    PermissionMode,
)
from codekernel.errors import WrongParam
from codekernel.handlers.context import FOLLOWING_END, Services, main_router
from codekernel.protocol.agent_session_entries import (
    build_event,
    build_page,
    build_session_message,
)
from codekernel.protocol.envelope import convert_values
from codekernel.protocol.messages import agent_sessions as messages
from codekernel.sync.engine import SyncEngine


def _get_engine(services: Services) -> SyncEngine:
    return services.agents().get_engine()


@main_router.handles(messages.GetAgentMachine, lane=Lane.OWN_THREAD)
def get_agent_machine(
    message: messages.GetAgentMachine, services: Services
) -> messages.MachineEntry:
    """Describe this machine."""
    return convert_values(_get_engine(services).get_machine(), messages.MachineEntry)


@main_router.handles(messages.GetAgentSessions, lane=Lane.OWN_THREAD)
def get_agent_sessions(
    message: messages.GetAgentSessions, services: Services
) -> messages.GetAgentSessionsReply:
    """List the sessions."""
    found = _get_engine(services).list_sessions()
    return messages.GetAgentSessionsReply(
        sessions=convert_values(found, list[messages.AgentSessionEntry])
    )


@main_router.handles(messages.GetAgentSession, lane=Lane.OWN_THREAD)
def get_agent_session(
    message: messages.GetAgentSession, services: Services
) -> messages.AgentSessionEntry:
    """Read one session."""
    found = _get_engine(services).get_session(message.id)
    return convert_values(found, messages.AgentSessionEntry)


@main_router.handles(messages.StartAgentSession, lane=Lane.OWN_THREAD)
def start_agent_session(
    message: messages.StartAgentSession, services: Services
) -> messages.AgentSessionEntry:
    """Start an agent in a folder."""
    new = NewSession(
        folder=message.folder,
        actor=_parse_actor(message.actor),
        agent=message.agent,
        model=message.model,
        name=message.name,
        permission_mode=_parse_mode(message.permission_mode),
        tag=message.tag,
    )
    started = _get_engine(services).start_session(new)
    return convert_values(started, messages.AgentSessionEntry)


@main_router.handles(messages.ReadAgentMessages, lane=Lane.OWN_THREAD)
def read_agent_messages(
    message: messages.ReadAgentMessages, services: Services
) -> messages.ReadAgentMessagesReply:
    """Read a page of messages."""
    page = _get_engine(services).read_messages(
        message.id,
        before_seq=message.before_seq,
        after_seq=message.after_seq,
        limit=message.limit,
        epoch=message.epoch,
    )
    return build_page(page)


@main_router.handles(messages.SendAgentMessage, lane=Lane.OWN_THREAD)
def send_agent_message(
    message: messages.SendAgentMessage, services: Services
) -> messages.SessionMessageEntry:
    """Queue a message."""
    new = NewMessage(message.text, _parse_actor(message.actor), message.local_id)
    return build_session_message(_get_engine(services).send_message(message.id, new))


@main_router.handles(messages.CancelAgentMessage, lane=Lane.OWN_THREAD)
def cancel_agent_message(
    message: messages.CancelAgentMessage, services: Services
) -> messages.CancelAgentMessageReply:
    """Take back a message that waits."""
    outcome = _get_engine(services).cancel_message(message.id, message.message_id)
    return messages.CancelAgentMessageReply(outcome=outcome.value)


@main_router.handles(messages.AnswerAgentPermission, lane=Lane.OWN_THREAD)
def answer_agent_permission(
    message: messages.AnswerAgentPermission, services: Services
) -> messages.SessionPermissionEntry:
    """Let a tool that waits go on, or not."""
    answer = PermissionAnswer(
        message.allowed,
        _parse_actor(message.actor),
        message.for_turn,
        message.option_id,
        message.answer_key,
    )
    settled = _get_engine(services).answer_permission(message.id, message.permission_id, answer)
    return convert_values(settled, messages.SessionPermissionEntry)


@main_router.handles(messages.GetAgentPermissions, lane=Lane.OWN_THREAD)
def get_agent_permissions(
    message: messages.GetAgentPermissions, services: Services
) -> messages.GetAgentPermissionsReply:
    """Read the log of permissions."""
    found = _get_engine(services).list_permissions(message.id)
    return messages.GetAgentPermissionsReply(
        permissions=convert_values(found, list[messages.SessionPermissionEntry])
    )


@main_router.handles(messages.StopAgentTurn, lane=Lane.OWN_THREAD)
def stop_agent_turn(message: messages.StopAgentTurn, services: Services) -> None:
    """Stop what an agent does."""
    _get_engine(services).stop_turn(message.id, _parse_actor(message.actor))


@main_router.handles(messages.UpdateAgentSession, lane=Lane.OWN_THREAD)
def update_agent_session(
    message: messages.UpdateAgentSession, services: Services
) -> messages.AgentSessionEntry:
    """Change a session."""
    mode = message.permission_mode
    updated = _get_engine(services).update_session(
        message.id,
        name=message.name,
        model=message.model,
        permission_mode=None if mode is None else _parse_mode(mode),
        is_archived=message.is_archived,
    )
    return convert_values(updated, messages.AgentSessionEntry)


@main_router.handles(messages.DeleteAgentSession, lane=Lane.OWN_THREAD)
def delete_agent_session(message: messages.DeleteAgentSession, services: Services) -> None:
    """Delete a session."""
    _get_engine(services).delete_session(message.id)


@main_router.handles(messages.AskAgentFolder, lane=Lane.OWN_THREAD)
def ask_agent_folder(
    message: messages.AskAgentFolder, services: Services
) -> messages.AskAgentFolderReply:
    """Answer a question about the folder of a session."""
    engine = _get_engine(services)
    if message.kind not in list(FolderQuestionKind):
        kinds = ", ".join(FolderQuestionKind)
        raise WrongParam(f"`message.kind` must be one of {kinds}.")
    kind = FolderQuestionKind(message.kind)
    question = FolderQuestion(kind, message.path, message.is_staged, message.query, message.limit)
    return convert_values(engine.ask_folder(message.id, question), messages.AskAgentFolderReply)


@main_router.handles(
    messages.FollowAgentSessions, lane=Lane.OWN_THREAD, stream_end=FOLLOWING_END, is_endless=True
)
def follow_agent_sessions(
    message: messages.FollowAgentSessions, services: Services
) -> Iterator[messages.SyncPart]:
    """Stream the events until the client goes."""
    engine, stopping = _get_engine(services), services.stopping
    after = convert_values(message.after, EventPosition) if message.after else None
    reader, position, is_resumed = engine.open_reader(after)
    with stopping.on_cancel(reader.close):
        start = convert_values(position, messages.PositionEntry)
        yield messages.FollowingPart(position=start, is_resumed=is_resumed)
        for event in reader:
            yield build_event(event)
    if not stopping.is_cancelled:
        yield messages.FollowingEnded()


def _parse_actor(entry: messages.ActorEntry) -> Actor:
    return Actor(entry.device, entry.name)


def _parse_mode(name: str) -> PermissionMode:
    try:
        return PermissionMode(name)
    except ValueError:
        modes = ", ".join(PermissionMode)
        raise WrongParam(f"`message.permissionMode` must be one of {modes}.") from None
