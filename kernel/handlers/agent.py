"""Agents at work in a repository: their turns, what they ask for, and undoing."""

from collections.abc import Iterator

from kernel.dispatch.lanes import Lane
from kernel.domain.turn_events import Done, Failed, Fleeting
from kernel.errors import KernelError, NetworkError
from kernel.handlers.routers import session_router
from kernel.handlers.talk_end import TALK_END
from kernel.protocol.messages.agent import (
    AnswerPermission,
    BeginAgentTurn,
    Decision,
    MessagePart,
    PermissionPart,
    UndoAgentTurn,
    UndoAgentTurnReply,
    agent_part,
    undone_entries,
)
from kernel.protocol.messages.conversation import TalkPart, talk_part
from kernel.sessions.session import Session


def _announce(message: BeginAgentTurn, session: Session) -> None:
    session.services.conversations().announce(message.conversation_id)


@session_router.handles(BeginAgentTurn, lane=Lane.OWN, at_once=_announce, stream_end=TALK_END)
def begin_agent_turn(
    message: BeginAgentTurn, session: Session
) -> Iterator[MessagePart | PermissionPart | TalkPart | KernelError | None]:
    """Accept the task, then stream everything that is shown of it."""
    with session.services.agents().begin(
        message.conversation_id,
        message.query,
        message.model_name,
        session.place(),
        session.cancel,
    ) as talk:
        yield None
        for event in talk.events():
            yield _part(event)


@session_router.handles(AnswerPermission, lane=Lane.URGENT)
def answer_permission(message: AnswerPermission, session: Session) -> None:
    """Let a tool that waits go on, or not."""
    session.services.agents().decide(
        message.conversation_id,
        message.tool_use_id,
        allowed=message.decision is not Decision.DENY,
        for_turn=message.decision is Decision.ALLOW_TURN,
    )


@session_router.handles(UndoAgentTurn, lane=Lane.OWN)
def undo_agent_turn(message: UndoAgentTurn, session: Session) -> UndoAgentTurnReply:
    """Undo what a turn has changed; say what became of each file."""
    undone = session.services.agents().undo(
        message.conversation_id, message.time, session.repo.path
    )
    return UndoAgentTurnReply(files=undone_entries(undone))


def _part(
    event: Fleeting | Failed | Done,
) -> MessagePart | PermissionPart | TalkPart | KernelError:
    if isinstance(event, Failed):
        network = event.code == NetworkError.code
        return NetworkError(event.message) if network else KernelError(event.message)
    return talk_part(event) if isinstance(event, Done) else agent_part(event)
