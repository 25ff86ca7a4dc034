"""Turns that windows and terminals begin in conversations: tasks as sessions of the engine."""

import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    Device,
    NewMessage,
    NewSession,
    PermissionAnswer,
)
from codekernel.domain.concurrency import Lazy
from codekernel.domain.settings import ALLOW_TURN_OPTION, OWN_AGENT
from codekernel.errors import KernelError, StorageError, WrongParam
from codekernel.protocol.messages.agent_turns import BeginAgentTurn
from codekernel.protocol.messages.conversation import BeginConversation
from codekernel.runtime.agent_windows import FollowedTurn
from codekernel.sync.engine import SyncEngine
from codekernel.sync.own_agent import OwnAgentBackend
from codekernel.sync.question_turns import QuestionTurns
from codekernel.sync.turn_feed import TurnFeed, TurnFeeds

logger = logging.getLogger(__name__)

# Where the users of a client are, if not at a page.
_CLIENT_DEVICES = {"agent": Device.TERMINAL, "backend": Device.SERVICE}


@dataclass(frozen=True, slots=True)
class AgentHost:
    """An engine, and our own agent as it runs it."""

    engine: SyncEngine
    own: OwnAgentBackend


class ConversationTurns:
    """AgentWindows over the engine: a turn goes on without the window that began it.

    Where the disk takes no session, a second engine keeps it in memory: the turn is run all the
    same, and its history is saved when there is room.
    """

    def __init__(
        self,
        main: Lazy[AgentHost],
        in_memory: Lazy[AgentHost],
        questions: QuestionTurns,
        feeds: TurnFeeds,
    ) -> None:
        self._main = main
        self._in_memory = in_memory
        self._questions = questions
        self._feeds = feeds

    def begin(
        self, task: BeginAgentTurn, folder: Path, client: str, *, is_mirrored: bool
    ) -> FollowedTurn:
        """Accept a task; raises as ``Conversations.begin`` does.

        A task that runs is followed by the same request of a client that was disconnected.
        """
        if running := self._find_repeated(task):
            return running
        actor = _make_actor(client)
        try:
            return self._begin(self._main(), task, folder, actor, is_mirrored=is_mirrored)
        except StorageError as error:
            logger.warning("a session is kept in memory alone. %s", error)
        return self._begin(self._in_memory(), task, folder, actor, is_mirrored=is_mirrored)

    def _begin(
        self,
        host: AgentHost,
        task: BeginAgentTurn,
        folder: Path,
        actor: Actor,
        *,
        is_mirrored: bool,
    ) -> FollowedTurn:
        accepted: list[TurnFeed] = []

        def accept() -> None:
            accepted.append(host.own.accept(task, folder, is_mirrored=is_mirrored).feed)

        new = NewSession(str(folder), actor, model=task.model_name)
        message = NewMessage(task.query, actor)
        try:
            host.engine.begin_turn(new, task.conversation_id, message, accept)
        except KernelError:
            if accepted:
                host.own.withdraw(task.conversation_id)
            raise
        return accepted[0]

    def begin_question(
        self, asked: BeginConversation, folder: Path, *, is_mirrored: bool
    ) -> FollowedTurn:
        """Accept a question; raises as ``Conversations.begin`` does."""
        running = self._find_repeated(asked)
        return running or self._questions.begin(asked, folder, is_mirrored=is_mirrored)

    def _find_repeated(self, asked: BeginAgentTurn | BeginConversation) -> TurnFeed | None:
        """Return the turn that the same request has begun, of a client that was disconnected."""
        running = self._feeds.find(asked.conversation_id)
        is_same = running and asked.turn_key and running.task.turn_key == asked.turn_key
        return running if is_same else None

    def find(self, conversation_id: int) -> FollowedTurn | None:
        """Return the turn that runs in a conversation."""
        return self._feeds.find(conversation_id)

    def list_running(self, folder: Path | None = None) -> list[FollowedTurn]:
        """Return the turns that run in a folder, or in all."""
        return [feed for feed in self._feeds.list_all() if folder in {None, feed.folder}]

    def decide(
        self,
        conversation_id: int,
        tool_use_id: str,
        client: str,
        *,
        allowed: bool,
        option_id: str,
    ) -> None:
        """Answer a tool that waits. Raises PermissionAnswered, or WrongParam if none waits."""
        engine, record = self._find_session(conversation_id)
        permissions = record.permissions if record else ()
        found = [each for each in permissions if each.tool_use_id == tool_use_id]
        if not engine or not record or not found or not self._feeds.find(conversation_id):
            raise WrongParam(
                f"No tool {tool_use_id[:80]!r} waits for a permission in conversation"
                f" {conversation_id}: it was answered already, or the agent has ended."
            )
        for_turn = option_id == ALLOW_TURN_OPTION
        answer = PermissionAnswer(allowed, _make_actor(client), for_turn, option_id)
        engine.answer_permission(record.id, found[-1].id, answer)

    def stop(self, conversation_id: int, client: str) -> None:
        """Stop a turn; stopping nothing succeeds."""
        if self._feeds.find(conversation_id):
            engine, record = self._find_session(conversation_id)
            if engine and record:
                engine.stop_turn(record.id, _make_actor(client))

    def forget(self, conversation_id: int) -> None:
        """Delete the session of a conversation that was deleted."""
        engine, record = self._find_session(conversation_id)
        if engine and record:
            with suppress(KernelError):
                engine.delete_session(record.id)

    def _find_session(
        self, conversation_id: int
    ) -> tuple[SyncEngine | None, AgentSessionRecord | None]:
        """Return the session of a conversation, the one that works first, and its engine."""
        found: list[tuple[SyncEngine, AgentSessionRecord]] = []

        def look(host: AgentHost) -> None:
            found.extend(
                (host.engine, each)
                for each in host.engine.list_sessions()
                if each.agent == OWN_AGENT and each.conversation_id == conversation_id
            )

        for hosts in (self._main, self._in_memory):
            hosts.use_if_created(look)
        found.sort(key=lambda it: it[1].is_thinking, reverse=True)
        return found[0] if found else (None, None)


def _make_actor(client: str) -> Actor:
    """Return who uses a client: the account, at a page, in a terminal or over a service."""
    return Actor(_CLIENT_DEVICES.get(client, Device.PAGE), _find_user_name())


@cache
def _find_user_name() -> str:
    """Return the name of the account, for the log of a session; empty if it is unknown.

    The environment alone says it: a lookup may ask a name server.
    """
    return next(filter(None, map(os.environ.get, ("LOGNAME", "USER", "USERNAME"))), "")
