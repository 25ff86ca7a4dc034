"""Conversations and what they cost."""

from collections.abc import Iterator

from kernel.dispatch.lanes import Lane
from kernel.domain.settings import Settings
from kernel.domain.turn_events import Failed, Shown
from kernel.domain.usage import Price
from kernel.errors import KernelError, NetworkError
from kernel.handlers.routers import session_router
from kernel.handlers.talk_end import TALK_END
from kernel.protocol.history_file import HistoryFile
from kernel.protocol.messages.conversation import (
    ApiUsageEntry,
    BeginConversation,
    ConversationEntry,
    DamagedFileEntry,
    DayUsageEntry,
    DeleteConversation,
    GetApiUsage,
    GetApiUsageReply,
    GetConversation,
    GetConversations,
    GetConversationsReply,
    StopConversation,
    TalkPart,
    cost_of,
    talk_part,
)
from kernel.sessions.session import Session


def _announce(message: BeginConversation, session: Session) -> None:
    session.services.conversations().announce(message.conversation_id)


@session_router.handles(BeginConversation, lane=Lane.OWN, at_once=_announce, stream_end=TALK_END)
def begin_conversation(
    message: BeginConversation, session: Session
) -> Iterator[TalkPart | KernelError | None]:
    """Accept the question, then stream everything that is shown for it."""
    with session.services.conversations().begin(
        message.conversation_id,
        message.query,
        message.model_name,
        session.place(),
        session.cancel,
    ) as talk:
        yield None
        for event in talk.events():
            yield _part(event)


@session_router.handles(StopConversation, lane=Lane.URGENT)
def stop_conversation(message: StopConversation, session: Session) -> None:
    """Stop a running answer, whichever window it is in; stopping nothing succeeds."""
    session.services.conversations().stop(message.conversation_id)


@session_router.handles(GetConversations, lane=Lane.OWN)
def get_conversations(message: GetConversations, session: Session) -> GetConversationsReply:
    """List what was asked about this repository."""
    archive = session.services.conversations().archive
    found = archive.of(str(session.repo.path))
    damages = archive.damages()
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


@session_router.handles(GetConversation, lane=Lane.OWN)
def get_conversation(message: GetConversation, session: Session) -> HistoryFile:
    """Read one conversation about this repository."""
    archive = session.services.conversations().archive
    return archive.read(message.conversation_id, str(session.repo.path))


@session_router.handles(DeleteConversation, lane=Lane.OWN)
def delete_conversation(message: DeleteConversation, session: Session) -> None:
    """Delete one conversation about this repository, unless it is being answered."""
    session.services.agents().delete(message.conversation_id, session.repo.path)


@session_router.handles(GetApiUsage, lane=Lane.SESSION)
def get_api_usage(message: GetApiUsage, session: Session) -> GetApiUsageReply:
    """Sum up what this repository's conversations used, per model."""
    ledger, repo_id = session.services.usage, session.repo.id
    prices = _prices(session.services.settings.current)
    days = ledger.by_day(repo_id)
    return GetApiUsageReply(
        api_usage=[
            ApiUsageEntry(
                model_name=usage.model_name,
                front_end_model_name=usage.model_name,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                total_tokens=usage.input_tokens + usage.output_tokens,
                cost=cost_of(prices.get(usage.model_name), usage.input_tokens, usage.output_tokens),
                days=[
                    DayUsageEntry(
                        day=day.day,
                        input_tokens=day.input_tokens,
                        output_tokens=day.output_tokens,
                        cost=cost_of(
                            prices.get(day.model_name), day.input_tokens, day.output_tokens
                        ),
                    )
                    for day in days
                    if day.model_name == usage.model_name
                ],
            )
            for usage in ledger.total(repo_id)
        ]
    )


def _part(event: Shown) -> TalkPart | KernelError:
    if isinstance(event, Failed):
        network = event.code == NetworkError.code
        return NetworkError(event.message) if network else KernelError(event.message)
    return talk_part(event)


def _prices(settings: Settings) -> dict[str, Price]:
    """What the models cost whose price the settings tell, by the endpoint's name for them."""
    return {
        model.model_name: Price(model.input_price or 0.0, model.output_price or 0.0)
        for model in reversed(settings.generation_models)
        if model.input_price is not None or model.output_price is not None
    }
