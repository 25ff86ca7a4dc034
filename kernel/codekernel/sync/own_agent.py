"""Our own agent as a backend of the engine: each session is a conversation, each prompt a turn.

The turn has a workspace of its own, so that it outlives every window on its repository.
"""

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from codekernel.agent.tool_policy import (
    DEFAULT_ALLOWED_PERMISSIONS,
    PermissionReply,
    ToolPermission,
)
from codekernel.agent.tools.call_format import truncate_middle
from codekernel.agent.turns import AgentTurns, RunningAgentTurn
from codekernel.conversation.conversations import Conversations
from codekernel.conversation.repository_access import RepositoryAccess
from codekernel.domain.agent_sessions import (
    PermissionMode,
    PlanEntry,
)
from codekernel.domain.chat import AgentMessage, ToolResultContent
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import ALLOW_RULE_OPTION, ALLOW_TURN_OPTION, HUNKS_OPTION_PREFIX
from codekernel.domain.turn import TurnOutcome
from codekernel.domain.turn_events import (
    AgentMessageShown,
    PermissionRequested,
    TurnDone,
    TurnFailed,
)
from codekernel.errors import KernelError, NetworkError, WrongParam
from codekernel.protocol.messages.agent_turns import BeginAgentTurn
from codekernel.sync.agents import AgentUpdate, BackendPermission, McpServerCommand, PlanUpdated
from codekernel.sync.turn_feed import FeedEvent, TurnFeed, TurnFeeds

# How often it is looked whether a question in the same conversation has been answered.
_BUSY_INTERVAL_SECONDS = 0.1

OnUpdate = Callable[[AgentUpdate], None]

OnAsked = Callable[[BackendPermission], None]

# Opens the repository of a folder; with true, its conversations are mirrored there.


class OpenRepository(Protocol):
    """Opens the repository of a folder, and its index, for the duration of a turn."""

    def __call__(
        self, folder: Path, *, is_mirrored: bool
    ) -> AbstractContextManager[RepositoryAccess]:
        """Raises as ``register_folder`` does."""


@dataclass(frozen=True, slots=True)
class OwnAgentServices:
    """What our agent needs of the kernel; ``choose_model`` returns the first usable one."""

    turns: Callable[[], AgentTurns]
    conversations: Callable[[], Conversations]
    open_repository: OpenRepository
    choose_model: Callable[[], str]
    feeds: TurnFeeds


@dataclass(slots=True)
class _OwnSession:
    folder: Path
    model: str = ""
    mode: PermissionMode = PermissionMode.ASK
    cancel: CancelToken = field(default_factory=CancelToken)
    accepted: "AcceptedAgentTurn | None" = None


@dataclass(frozen=True, slots=True)
class AcceptedAgentTurn:
    """A turn that was accepted and has not begun; ``resources`` has its repository."""

    turn: RunningAgentTurn
    feed: TurnFeed
    cancel: CancelToken
    resources: ExitStack


class OwnAgentBackend:
    """AgentBackend over the turns of conversations; safe to use from any thread."""

    def __init__(self, services: OwnAgentServices) -> None:
        self._services = services
        self._sessions: dict[str, _OwnSession] = {}
        self._waiting: dict[str, tuple[RunningAgentTurn, str]] = {}  # permissions by id
        self._on_asked: OnAsked | None = None
        self._last_id = 0
        self._lock = threading.Lock()

    def initialize(self) -> None:
        """Do nothing: a model is opened by the turn that needs it."""

    def new_session(self, folder: Path, _mcp_servers: Sequence[McpServerCommand] = ()) -> str:
        """Begin a conversation about a folder; its number is the session's id."""
        with self._lock:
            self._last_id = max(self._last_id + 1, time.time_ns() // 1_000_000)
            name = str(self._last_id)
            self._sessions[name] = _OwnSession(folder)
            return name

    def load_session(
        self, session: str, folder: Path, _mcp_servers: Sequence[McpServerCommand] = ()
    ) -> bool:
        """Go on with a conversation, whose history is on disk."""
        with self._lock:
            self._sessions.setdefault(session, _OwnSession(folder))
        return True

    def configure_session(
        self, session: str, *, model: str, permission_mode: PermissionMode
    ) -> None:
        """Set what the next prompt of a session uses."""
        found = self._get(session)
        found.model, found.mode = model, permission_mode

    def accept(
        self, task: BeginAgentTurn, folder: Path, *, is_mirrored: bool = False
    ) -> AcceptedAgentTurn:
        """Accept a task that a window or terminal begins; the next prompt of its session runs it.

        Raises as ``Conversations.begin`` does.
        """
        session = str(task.conversation_id)
        self.load_session(session, folder)
        found = self._get(session)
        found.accepted = self._accept(found, task, is_mirrored=is_mirrored)
        return found.accepted

    def withdraw(self, conversation_id: int) -> None:
        """Give up an accepted task that cannot be run."""
        found = self._get(str(conversation_id))
        accepted, found.accepted = found.accepted, None
        if accepted:
            with accepted.resources, accepted.turn:
                self._services.feeds.end(accepted.feed)

    def prompt(self, session: str, text: str, on_update: OnUpdate) -> str:
        """Run one turn; its feed is ended by the engine. Raises KernelError."""
        found, conversation_id = self._get(session), int(session)
        accepted, found.accepted = found.accepted, None
        if accepted is None:
            found.cancel = CancelToken()
            self._wait_until_free(conversation_id, found.cancel)
            model = found.model or self._services.choose_model()
            task = BeginAgentTurn(
                model_name=model, conversation_id=conversation_id, query=text, asks=True
            )
            accepted = self._accept(found, task)
        try:
            with accepted.resources, accepted.turn as turn:
                return _TurnTranslator(self, session, turn, accepted.feed, on_update).run()
        finally:
            self._forget_waiting(accepted.turn)

    def cancel_prompt(self, session: str) -> None:
        """Stop the running turn, if there is one."""
        self._get(session).cancel.cancel()

    def on_permission_request(self, handler: OnAsked) -> None:
        """Set who is asked."""
        self._on_asked = handler

    def respond_to_permission(self, permission_id: str, *, allowed: bool, option_id: str) -> None:
        """Let a tool that waits go on, or not."""
        with self._lock:
            waiting = self._waiting.pop(permission_id, None)
        if waiting:
            turn, tool_use_id = waiting
            turn.decide(
                tool_use_id,
                PermissionReply(allowed, _parse_hunks(option_id)),
                for_turn=option_id == ALLOW_TURN_OPTION,
                makes_rule=option_id == ALLOW_RULE_OPTION,
            )

    def disconnect(self) -> None:
        """Stop every turn."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.cancel.cancel()

    def ask(self, session: str, turn: RunningAgentTurn, asked: PermissionRequested) -> None:
        """Ask for a permission of a running turn; without a handler it is refused."""
        permission_id = f"{asked.tool_use_id[:40]}-{secrets.token_hex(4)}"
        handler = self._on_asked
        if handler is None:
            turn.decide(asked.tool_use_id, PermissionReply(allowed=False))
            return
        with self._lock:
            self._waiting[permission_id] = (turn, asked.tool_use_id)
        handler(
            BackendPermission(
                permission_id,
                session,
                asked.tool,
                asked.input,
                asked.danger,
                tool_use_id=asked.tool_use_id,
            )
        )

    def _accept(
        self, session: _OwnSession, task: BeginAgentTurn, *, is_mirrored: bool = False
    ) -> AcceptedAgentTurn:
        session.cancel = cancel = CancelToken()
        reads_only = session.mode is PermissionMode.READ_ONLY
        allowed = (ToolPermission.READS,) if reads_only else DEFAULT_ALLOWED_PERMISSIONS
        with ExitStack() as resources:
            place = resources.enter_context(
                self._services.open_repository(session.folder, is_mirrored=is_mirrored)
            )
            turn = self._services.turns().begin(task, place, cancel, allowed)
            feed = self._services.feeds.open(task, session.folder)
            return AcceptedAgentTurn(turn, feed, cancel, resources.pop_all())

    def _wait_until_free(self, conversation_id: int, cancel: CancelToken) -> None:
        """Wait while a question is answered in the conversation; a message is not refused."""
        conversations = self._services.conversations()
        while conversations.is_running(conversation_id):
            if cancel.wait(_BUSY_INTERVAL_SECONDS):
                return

    def _forget_waiting(self, turn: RunningAgentTurn) -> None:
        with self._lock:
            for name in [each for each, (of, _) in self._waiting.items() if of is turn]:
                del self._waiting[name]

    def _get(self, session: str) -> _OwnSession:
        with self._lock:
            found = self._sessions.get(session)
        if found is None:
            raise WrongParam(f"Our agent has no session {session[:80]!r}.")
        return found


class _TurnTranslator:
    """Translates the events of one turn into updates for the engine, and shows them in the feed."""

    def __init__(
        self,
        backend: OwnAgentBackend,
        session: str,
        turn: RunningAgentTurn,
        feed: TurnFeed,
        on_update: OnUpdate,
    ) -> None:
        self._backend = backend
        self._session = session
        self._turn = turn
        self._feed = feed
        self._on_update = on_update
        self._plan: tuple[PlanEntry, ...] = ()
        self._outcome = TurnOutcome.STOPPED
        self._failure: KernelError | None = None

    def run(self) -> str:
        for event in self._turn.stream_events():
            self._translate(event)
            if isinstance(event, PermissionRequested):  # in the feed once it can be answered
                self._feed.note_permission(event)
                self._backend.ask(self._session, self._turn, event)
            else:
                self._feed.append(event)
        if self._failure:
            raise self._failure
        return "end_turn" if self._outcome is TurnOutcome.DONE else "cancelled"

    def _translate(self, event: FeedEvent) -> None:
        match event:
            case AgentMessageShown(message):
                self._on_update(_shorten(message))
                self._update_plan()
            case TurnFailed(code, text):
                is_network = code == NetworkError.code
                self._failure = NetworkError(text) if is_network else KernelError(text)
            case TurnDone():
                self._outcome = event.outcome

    def _update_plan(self) -> None:
        tasks = self._turn.plan_tasks
        plan = tuple(PlanEntry(each.desc, each.status) for each in tasks)
        if plan != self._plan:
            self._plan = plan
            self._on_update(PlanUpdated(plan))


def _parse_hunks(option_id: str) -> tuple[int, ...] | None:
    """Return the hunks of an edit that were accepted; None for all."""
    if not option_id.startswith(HUNKS_OPTION_PREFIX):
        return None
    numbers = option_id.removeprefix(HUNKS_OPTION_PREFIX).split(",")
    return tuple(int(number) for number in numbers if number.isdecimal())


def _shorten(message: AgentMessage) -> AgentMessage:
    """Return what is kept of a message: of a long result its ends."""
    return replace(
        message,
        content=tuple(
            replace(block, content=truncate_middle(block.text))
            if isinstance(block, ToolResultContent)
            else block
            for block in message.content
        ),
    )
