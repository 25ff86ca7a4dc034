"""Conversations and what they cost."""

from kernel.dispatch.lanes import Lane
from kernel.errors import NotThereYet
from kernel.handlers.routers import session_router
from kernel.protocol.messages.conversation import (
    ApiUsageEntry,
    BeginConversation,
    GetApiUsage,
    GetApiUsageReply,
    StopConversation,
)
from kernel.sessions.session import Session


@session_router.handles(BeginConversation, lane=Lane.OWN)
def begin_conversation(message: BeginConversation, session: Session) -> None:
    """Stream an answer; arrives with the conversation room."""
    raise NotThereYet("conversations arrive with a later version of codekernel")


@session_router.handles(StopConversation, lane=Lane.URGENT)
def stop_conversation(message: StopConversation, session: Session) -> None:
    """Stop a running answer. None can be running yet, and stopping nothing succeeds."""


@session_router.handles(GetApiUsage, lane=Lane.SESSION)
def get_api_usage(message: GetApiUsage, session: Session) -> GetApiUsageReply:
    """Sum up what this repository's conversations used, per model."""
    return GetApiUsageReply(
        api_usage=[
            ApiUsageEntry(
                model_name=usage.model_name,
                front_end_model_name=usage.model_name,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                total_tokens=usage.input_tokens + usage.output_tokens,
            )
            for usage in session.services.usage.total(session.repo.id)
        ]
    )
