"""Conversations: asking, stopping, listing, deleting, and their API usage.

Agent turns: starting, answering permission requests, undoing.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from codekernel.dispatch.routing import Lane, StreamTerminator
from codekernel.domain.settings import (
    ALLOW_RULE_OPTION,
    ALLOW_TURN_OPTION,
    HUNKS_OPTION_PREFIX,
)
from codekernel.errors import KernelError
from codekernel.handlers.context import Services, main_router, session_router
from codekernel.protocol.envelope import convert_values
from codekernel.protocol.messages import agent_turns
from codekernel.protocol.messages import conversation as messages
from codekernel.protocol.messages.conversation import HistoryFile
from codekernel.runtime.agent_windows import FollowedTurn
from codekernel.runtime.sessions import Session
from codekernel.storage.vault.vault import DayUsage, ModelUsage

if TYPE_CHECKING:
    from codekernel.conversation.turn import RunningTurn

Entry = TypeVar("Entry", bound=messages.RunningEntry)


def _is_done_part(part: object) -> bool:
    return isinstance(part, messages.ConversationPart) and part.type == messages.FAILED_PART.type


CONVERSATION_END = StreamTerminator(refusal_part=messages.FAILED_PART, is_end=_is_done_part)


def _announce_turn(
    message: messages.BeginConversation | agent_turns.BeginAgentTurn, session: Session
) -> None:
    """Record that a turn has arrived, so that it can be stopped before it starts."""
    session.services.conversations().announce(message.conversation_id)


@session_router.handles(
    messages.BeginConversation,
    lane=Lane.OWN_THREAD,
    on_arrival=_announce_turn,
    stream_end=CONVERSATION_END,
)
def begin_conversation(
    message: messages.BeginConversation, session: Session
) -> Iterator[messages.ConversationPart | KernelError | None]:
    """Accept the question, then stream everything that is shown for it."""
    conversations, services = session.services.conversations(), session.services
    if message.goes_on:
        turn = services.agent_windows().begin_question(
            message, session.repo.path, is_mirrored=services.has_mirror
        )
        yield None
        yield from _follow_turn(turn, session)
        return
    yield from _stream_turn(
        conversations.begin(message, session.build_repository_access(), session.cancel)
    )


@session_router.handles(messages.StopConversation, lane=Lane.URGENT)
def stop_conversation(message: messages.StopConversation, session: Session) -> None:
    """Stop a running answer, whichever window it is in; stopping nothing succeeds."""
    session.services.agent_windows().stop(message.conversation_id, session.services.client)
    session.services.conversations().stop(message.conversation_id)


@session_router.handles(messages.GetConversations, lane=Lane.OWN_THREAD)
def get_conversations(
    message: messages.GetConversations, session: Session
) -> messages.GetConversationsReply:
    """List what was asked about this repository."""
    conversations = session.services.conversations()
    conversations.recover_once()
    archive = conversations.archive
    found = archive.list_conversations(str(session.repo.path))
    running = session.services.agent_windows().list_running(session.repo.path)
    return messages.GetConversationsReply(
        conversations=convert_values(found, list[messages.ConversationEntry]),
        running=[_describe_running(turn, messages.RunningEntry) for turn in running],
        damaged=[
            messages.DamagedFileEntry(file=name, reason=why)
            for name, why in archive.list_damages().items()
        ],
    )


@main_router.handles(messages.GetRunningTurns, lane=Lane.OWN_THREAD)
def get_running_turns(
    message: messages.GetRunningTurns, services: Services
) -> messages.GetRunningTurnsReply:
    """List what is at work, whoever has begun it; nothing is before the first turn."""
    running: list[FollowedTurn] = []
    services.agents.use_if_created(lambda agents: running.extend(agents.windows.list_running()))
    names = {repo.path: repo.name for repo in services.repos.list_all()} if running else {}
    return messages.GetRunningTurnsReply(
        turns=[
            _describe_running(turn, messages.RunningTurnEntry, repo_name=names[turn.folder])
            for turn in running
            if turn.folder in names
        ]
    )


@session_router.handles(messages.GetConversation, lane=Lane.OWN_THREAD)
def get_conversation(message: messages.GetConversation, session: Session) -> HistoryFile:
    """Read one conversation about this repository."""
    archive = session.services.conversations().archive
    return archive.read(message.conversation_id, str(session.repo.path))


@session_router.handles(messages.ForkConversation, lane=Lane.OWN_THREAD)
def fork_conversation(message: messages.ForkConversation, session: Session) -> None:
    """Begin a conversation about this repository with the first turns of another one."""
    session.services.conversations().fork(
        message.conversation_id, message.new_id, message.turns, str(session.repo.path)
    )


@session_router.handles(messages.DeleteConversation, lane=Lane.OWN_THREAD)
def delete_conversation(message: messages.DeleteConversation, session: Session) -> None:
    """Delete one conversation about this repository, unless it is being answered."""
    session.services.agents().delete(message.conversation_id, session.repo.path)
    session.services.agent_windows().forget(message.conversation_id)


@session_router.handles(messages.GetApiUsage, lane=Lane.SESSION)
def get_api_usage(message: messages.GetApiUsage, session: Session) -> messages.GetApiUsageReply:
    """Sum up what this repository's conversations used, per model."""
    ledger, repo_id = session.services.usage, session.repo.id
    models = reversed(session.services.settings.current.generation_models)
    prices = {model.model_name: model.price for model in models if model.price}
    days = ledger.list_by_day(repo_id)

    def compute_cost(usage: ModelUsage | DayUsage) -> messages.TokenCost:
        price = prices.get(usage.model_name)
        return messages.compute_token_cost(price, usage.input_tokens, usage.output_tokens)

    repos = {}
    if message.all_repos:
        repos["repos"] = [
            messages.RepoUsageEntry(
                repo_name=repo_name,
                model_name=usage.model_name,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost=compute_cost(usage),
            )
            for repo_name, usage in ledger.sum_by_repo()
        ]
    return messages.GetApiUsageReply(
        api_usage=[
            messages.ApiUsageEntry(
                model_name=usage.model_name,
                front_end_model_name=usage.model_name,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                total_tokens=usage.input_tokens + usage.output_tokens,
                cost=compute_cost(usage),
                days=[
                    messages.DayUsageEntry(
                        day=day.day,
                        input_tokens=day.input_tokens,
                        output_tokens=day.output_tokens,
                        cost=compute_cost(day),
                    )
                    for day in days
                    if day.model_name == usage.model_name
                ],
            )
            for usage in ledger.sum_by_model(repo_id)
        ],
        **repos,
    )


@session_router.handles(
    agent_turns.BeginAgentTurn,
    lane=Lane.OWN_THREAD,
    on_arrival=_announce_turn,
    stream_end=CONVERSATION_END,
)
def begin_agent_turn(
    message: agent_turns.BeginAgentTurn, session: Session
) -> Iterator[agent_turns.AgentPart | messages.ConversationPart | KernelError | None]:
    """Accept the task, then stream what is shown of it; it goes on without the window."""
    turn = session.services.agent_windows().begin(
        message,
        session.repo.path,
        session.services.client,
        is_mirrored=session.services.has_mirror,
    )
    yield None
    yield from _follow_turn(turn, session)


@session_router.handles(
    agent_turns.FollowConversation, lane=Lane.OWN_THREAD, stream_end=CONVERSATION_END
)
def follow_conversation(
    message: agent_turns.FollowConversation, session: Session
) -> Iterator[agent_turns.AgentPart | messages.ConversationPart | KernelError | None]:
    """Stream the turn that runs in a conversation, from its beginning."""
    turn = session.services.agent_windows().find(message.conversation_id)
    yield None
    if turn is None:
        yield messages.NOTHING_RUNS_PART
        return
    yield agent_turns.TaskPart(content=turn.task.query, is_agent=_is_agent(turn))
    yield from _follow_turn(turn, session)


@session_router.handles(agent_turns.AnswerPermission, lane=Lane.URGENT)
def answer_permission(message: agent_turns.AnswerPermission, session: Session) -> None:
    """Let a tool that waits go on, or not."""
    option_id = ""
    if message.hunks is not None:
        option_id = HUNKS_OPTION_PREFIX + ",".join(map(str, message.hunks))
    elif message.decision is agent_turns.Decision.ALLOW_RULE:
        option_id = ALLOW_RULE_OPTION
    elif message.decision is agent_turns.Decision.ALLOW_TURN:
        option_id = ALLOW_TURN_OPTION
    session.services.agent_windows().decide(
        message.conversation_id,
        message.tool_use_id,
        session.services.client,
        allowed=message.decision is not agent_turns.Decision.DENY,
        option_id=option_id,
    )


@session_router.handles(agent_turns.GetPermissionRules, lane=Lane.OWN_THREAD)
def get_permission_rules(
    message: agent_turns.GetPermissionRules, session: Session
) -> agent_turns.GetPermissionRulesReply:
    """List what agents may do in this repository without being asked."""
    rules = session.services.agents().rules.list_rules(session.repo.path)
    return agent_turns.GetPermissionRulesReply(
        rules=convert_values(rules, list[agent_turns.PermissionRuleEntry])
    )


@session_router.handles(agent_turns.DeletePermissionRule, lane=Lane.OWN_THREAD)
def delete_permission_rule(message: agent_turns.DeletePermissionRule, session: Session) -> None:
    """Delete a rule of this repository."""
    session.services.agents().rules.delete(session.repo.path, message.id)


@session_router.handles(agent_turns.UndoAgentTurn, lane=Lane.OWN_THREAD)
def undo_agent_turn(
    message: agent_turns.UndoAgentTurn, session: Session
) -> agent_turns.UndoAgentTurnReply:
    """Undo what a turn has changed; say what became of each file."""
    undone = session.services.agents().undo(
        message.conversation_id, message.time, session.repo.path
    )
    return agent_turns.UndoAgentTurnReply(
        files=convert_values(undone, list[agent_turns.UndoneEntry])
    )


@session_router.handles(agent_turns.UndoAgentSession, lane=Lane.OWN_THREAD)
def undo_agent_session(
    message: agent_turns.UndoAgentSession, session: Session
) -> agent_turns.UndoAgentTurnReply:
    """Undo what all turns of a session have changed; say what became of each file."""
    undone = session.services.agents().undo_session(message.session, session.repo.path)
    return agent_turns.UndoAgentTurnReply(
        files=convert_values(undone, list[agent_turns.UndoneEntry])
    )


def _follow_turn(turn: FollowedTurn, session: Session) -> Iterator[Any]:
    """Yield the parts of a turn that goes on, until its end or that of the window."""
    part: Any = None
    for part in _build_parts(turn.follow(session.cancel)):
        yield part
    if not _is_done_part(part):
        yield messages.DETACHED_PART


def _describe_running(turn: FollowedTurn, entry: type[Entry], **fields: str) -> Entry:
    task = turn.task
    return entry(
        conversation_id=task.conversation_id, query=task.query, is_agent=_is_agent(turn), **fields
    )


def _is_agent(turn: FollowedTurn) -> bool:
    return isinstance(turn.task, agent_turns.BeginAgentTurn)


def _stream_turn(running: "RunningTurn[Any]") -> Iterator[Any]:
    # Yields what the two handlers above declare.
    with running as turn:
        yield None
        yield from _build_parts(turn.stream_events())


def _build_parts(events: Iterable[Any]) -> Iterator[Any]:
    from codekernel.protocol.turn_parts import build_part  # noqa: PLC0415 - with the first question

    return map(build_part, events)
