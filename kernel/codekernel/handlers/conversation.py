"""Conversations: asking, stopping, listing, deleting, and their API usage."""

from collections.abc import Iterator

from codekernel.dispatch.routing import Lane
from codekernel.domain.settings import Settings
from codekernel.domain.turn import Price
from codekernel.domain.turn_events import ShownEvent, TurnFailed
from codekernel.errors import KernelError, NetworkError
from codekernel.handlers.context import CONVERSATION_END, session_router
from codekernel.protocol.history_file import HistoryFile
from codekernel.protocol.messages.agent import BeginAgentTurn
from codekernel.protocol.messages.conversation import (
    ApiUsageEntry,
    BeginConversation,
    ConversationEntry,
    ConversationPart,
    DamagedFileEntry,
    DayUsageEntry,
    DeleteConversation,
    GetApiUsage,
    GetApiUsageReply,
    GetConversation,
    GetConversations,
    GetConversationsReply,
    StopConversation,
    build_conversation_part,
    compute_token_cost,
)
from codekernel.runtime.sessions import Session


def announce_turn(message: BeginConversation | BeginAgentTurn, session: Session) -> None:
    """Record that a turn has arrived, so that it can be stopped before it starts."""
    session.services.conversations().announce(message.conversation_id)


@session_router.handles(
    BeginConversation,
    lane=Lane.OWN_THREAD,
    on_arrival=announce_turn,
    stream_end=CONVERSATION_END,
)
def begin_conversation(
    message: BeginConversation, session: Session
) -> Iterator[ConversationPart | KernelError | None]:
    """Accept the question, then stream everything that is shown for it."""
    with session.services.conversations().begin(
        message.conversation_id,
        message.query,
        message.model_name,
        session.build_repository_access(),
        session.cancel,
    ) as turn:
        yield None
        for event in turn.stream_events():
            yield _build_part(event)


@session_router.handles(StopConversation, lane=Lane.URGENT)
def stop_conversation(message: StopConversation, session: Session) -> None:
    """Stop a running answer, whichever window it is in; stopping nothing succeeds."""
    session.services.conversations().stop(message.conversation_id)


@session_router.handles(GetConversations, lane=Lane.OWN_THREAD)
def get_conversations(message: GetConversations, session: Session) -> GetConversationsReply:
    """List what was asked about this repository."""
    archive = session.services.conversations().archive
    found = archive.list_conversations(str(session.repo.path))
    damages = archive.list_damages()
    return GetConversationsReply(
        conversations=[
            ConversationEntry(
                conversation_id=each.conversation_id,
                topic=each.topic,
                time=each.time_ms,
                turns=each.turns,
                unsaved=each.is_unsaved,
                damaged=each.damage,
            )
            for each in found
        ],
        damaged=[DamagedFileEntry(file=name, reason=why) for name, why in damages.items()],
    )


@session_router.handles(GetConversation, lane=Lane.OWN_THREAD)
def get_conversation(message: GetConversation, session: Session) -> HistoryFile:
    """Read one conversation about this repository."""
    archive = session.services.conversations().archive
    return archive.read(message.conversation_id, str(session.repo.path))


@session_router.handles(DeleteConversation, lane=Lane.OWN_THREAD)
def delete_conversation(message: DeleteConversation, session: Session) -> None:
    """Delete one conversation about this repository, unless it is being answered."""
    session.services.agents().delete(message.conversation_id, session.repo.path)


@session_router.handles(GetApiUsage, lane=Lane.SESSION)
def get_api_usage(message: GetApiUsage, session: Session) -> GetApiUsageReply:
    """Sum up what this repository's conversations used, per model."""
    ledger, repo_id = session.services.usage, session.repo.id
    prices = _collect_prices(session.services.settings.current)
    days = ledger.list_by_day(repo_id)
    return GetApiUsageReply(
        api_usage=[
            ApiUsageEntry(
                model_name=usage.model_name,
                front_end_model_name=usage.model_name,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                total_tokens=usage.input_tokens + usage.output_tokens,
                cost=compute_token_cost(
                    prices.get(usage.model_name), usage.input_tokens, usage.output_tokens
                ),
                days=[
                    DayUsageEntry(
                        day=day.day,
                        input_tokens=day.input_tokens,
                        output_tokens=day.output_tokens,
                        cost=compute_token_cost(
                            prices.get(day.model_name), day.input_tokens, day.output_tokens
                        ),
                    )
                    for day in days
                    if day.model_name == usage.model_name
                ],
            )
            for usage in ledger.sum_by_model(repo_id)
        ]
    )


def _build_part(event: ShownEvent) -> ConversationPart | KernelError:
    return build_error(event) if isinstance(event, TurnFailed) else build_conversation_part(event)


def build_error(event: TurnFailed) -> KernelError:
    """Return the error that a failed turn is answered with."""
    return (NetworkError if event.code == NetworkError.code else KernelError)(event.message)


def _collect_prices(settings: Settings) -> dict[str, Price]:
    """Return the prices in the settings by the endpoint's name of the model."""
    return {
        model.model_name: Price(model.input_price or 0.0, model.output_price or 0.0)
        for model in reversed(settings.generation_models)
        if model.input_price is not None or model.output_price is not None
    }
