"""Agent sessions that every device sees: one handler for each method of AgentSessions."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from codekernel.dispatch.routing import Lane, StreamTerminator
from codekernel.handlers.context import Services, main_router
from codekernel.protocol.envelope import convert_values
from codekernel.protocol.messages import agent_sessions as messages

if TYPE_CHECKING:  # 40 ms, which the first message about agents can wait for
    from codekernel.handlers.agent_session_requests import AgentSessionRequests
    from codekernel.sync.engine import SyncEngine

FOLLOWING_END = StreamTerminator(
    refusal_part=messages.FollowingEnded(),
    is_end=lambda part: isinstance(part, messages.FollowingEnded),
)


def _get_engine(services: Services) -> "SyncEngine":
    return services.agents().get_engine()


def _open_requests(services: Services) -> "AgentSessionRequests":
    from codekernel.handlers.agent_session_requests import AgentSessionRequests  # noqa: PLC0415 - as above

    return AgentSessionRequests(_get_engine(services))


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
    started = _open_requests(services).start(message)
    return convert_values(started, messages.AgentSessionEntry)


@main_router.handles(messages.ReadAgentMessages, lane=Lane.OWN_THREAD)
def read_agent_messages(
    message: messages.ReadAgentMessages, services: Services
) -> messages.ReadAgentMessagesReply:
    """Read a page of messages."""
    return _open_requests(services).read_messages(message)


@main_router.handles(messages.SendAgentMessage, lane=Lane.OWN_THREAD)
def send_agent_message(
    message: messages.SendAgentMessage, services: Services
) -> messages.SessionMessageEntry:
    """Queue a message."""
    return _open_requests(services).send_message(message)


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
    settled = _open_requests(services).answer_permission(message)
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
    _open_requests(services).stop_turn(message)


@main_router.handles(messages.UpdateAgentSession, lane=Lane.OWN_THREAD)
def update_agent_session(
    message: messages.UpdateAgentSession, services: Services
) -> messages.AgentSessionEntry:
    """Change a session."""
    updated = _open_requests(services).update(message)
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
    answer = _open_requests(services).ask_folder(message)
    return convert_values(answer, messages.AskAgentFolderReply)


@main_router.handles(
    messages.FollowAgentSessions, lane=Lane.OWN_THREAD, stream_end=FOLLOWING_END, is_endless=True
)
def follow_agent_sessions(
    message: messages.FollowAgentSessions, services: Services
) -> Iterator[messages.SyncPart]:
    """Stream the events until the client goes."""
    yield from _open_requests(services).follow(message, services.stopping)
