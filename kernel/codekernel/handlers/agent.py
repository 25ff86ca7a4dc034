"""Agent turns: starting, answering permission requests, undoing."""

from collections.abc import Iterator

from codekernel.dispatch.routing import Lane
from codekernel.domain.turn_events import TransientEvent, TurnDone, TurnFailed
from codekernel.errors import KernelError
from codekernel.handlers.context import CONVERSATION_END, session_router
from codekernel.handlers.conversation import announce_turn, build_error
from codekernel.protocol.messages.agent import (
    AnswerPermission,
    BeginAgentTurn,
    Decision,
    MessagePart,
    PermissionPart,
    UndoAgentTurn,
    UndoAgentTurnReply,
    build_agent_part,
    build_undone_entries,
)
from codekernel.protocol.messages.conversation import ConversationPart, build_conversation_part
from codekernel.runtime.sessions import Session


@session_router.handles(
    BeginAgentTurn,
    lane=Lane.OWN_THREAD,
    on_arrival=announce_turn,
    stream_end=CONVERSATION_END,
)
def begin_agent_turn(
    message: BeginAgentTurn, session: Session
) -> Iterator[MessagePart | PermissionPart | ConversationPart | KernelError | None]:
    """Accept the task, then stream everything that is shown of it."""
    with session.services.agents().begin(
        message.conversation_id,
        message.query,
        message.model_name,
        session.build_repository_access(),
        session.cancel,
    ) as turn:
        yield None
        for event in turn.stream_events():
            yield _build_part(event)


@session_router.handles(AnswerPermission, lane=Lane.URGENT)
def answer_permission(message: AnswerPermission, session: Session) -> None:
    """Let a tool that waits go on, or not."""
    session.services.agents().decide(
        message.conversation_id,
        message.tool_use_id,
        allowed=message.decision is not Decision.DENY,
        for_turn=message.decision is Decision.ALLOW_TURN,
    )


@session_router.handles(UndoAgentTurn, lane=Lane.OWN_THREAD)
def undo_agent_turn(message: UndoAgentTurn, session: Session) -> UndoAgentTurnReply:
    """Undo what a turn has changed; say what became of each file."""
    undone = session.services.agents().undo(
        message.conversation_id, message.time, session.repo.path
    )
    return UndoAgentTurnReply(files=build_undone_entries(undone))


def _build_part(
    event: TransientEvent | TurnFailed | TurnDone,
) -> MessagePart | PermissionPart | ConversationPart | KernelError:
    if isinstance(event, TurnFailed):
        return build_error(event)
    return (
        build_conversation_part(event) if isinstance(event, TurnDone) else build_agent_part(event)
    )
