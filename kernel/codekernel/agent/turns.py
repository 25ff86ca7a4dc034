"""Agent turns in conversations: begin, stream, ask for permission, undo, delete."""

import logging
import shutil
import sys
import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

from codekernel.agent.agent_thread import AgentMessageStream, AgentThread, PermissionPrompt
from codekernel.agent.loop import MAX_AGENT_ROUNDS, AgentLoop
from codekernel.agent.permission_rules import PermissionRules, describe_rule, review_edit
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.tool import PlanTask, ToolContext
from codekernel.agent.tool_policy import (
    DEFAULT_ALLOWED_PERMISSIONS,
    AllowListPolicy,
    AskUserPolicy,
    PermissionReply,
    ToolPermission,
    ToolPermissionRequest,
)
from codekernel.agent.tools.call_format import truncate_middle
from codekernel.agent.tools.toolsets import select_tools
from codekernel.agent.turn_workspace import AgentWorkspace, undo_session
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.conversation.conversations import UNDO_REFUSAL, Conversations
from codekernel.conversation.prompt_builder import select_past_turns
from codekernel.conversation.repository_access import RepositoryAccess
from codekernel.conversation.turn import AcceptedTurn, RunningTurn, TurnResult
from codekernel.domain.chat import ChatBackend
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn import (
    AgentTurnRef,
    AgentTurnSummary,
    FileChange,
    PastTurn,
    UndoResult,
    UndoState,
)
from codekernel.domain.turn_events import (
    AgentCallsQueued,
    AgentFinished,
    AgentMessageShown,
    AgentSessionOpened,
    AgentToolDataShown,
    AgentToolDone,
    AgentToolReturned,
    AgentToolUsed,
    FileChanged,
    LoopEvent,
    PermissionRequested,
    RoundStarted,
    TransientEvent,
    TurnEvent,
    TurnFailed,
)
from codekernel.errors import Cancelled, KernelError, NetworkError, WrongParam
from codekernel.protocol.messages.agent_turns import BeginAgentTurn
from codekernel.protocol.messages.conversation import HistoryFile, TurnEntry

logger = logging.getLogger(__name__)

# Events of the loop that the history does not have.
_NOT_KEPT = (RoundStarted, AgentCallsQueued, AgentFinished)

# How often a growing message is sent again: often enough to be read as it comes.
_MESSAGE_INTERVAL_SECONDS = 0.1


class RunningAgentTurn(RunningTurn[TransientEvent]):
    """The turn of an agent; ``decide`` may be called from any thread."""

    shown_events = get_args(TransientEvent)

    def __init__(
        self,
        accepted: AcceptedTurn,
        workspace: AgentWorkspace,
        task: BeginAgentTurn,
        allowed: Collection[ToolPermission],
        rules: PermissionRules,
    ) -> None:
        super().__init__(accepted)
        self._rules = rules
        self._workspace = workspace
        self._allowed = allowed
        self._asked = task
        self._registry, self._unknown_tools = select_tools(task.tools)
        # Its own: the thread is also ended because the agent has failed, which is no stop.
        self._cancel = accepted.cancel.create_child()
        self._thread = AgentThread(self._cancel)
        self._message_stream = AgentMessageStream(interval_seconds=_MESSAGE_INTERVAL_SECONDS)
        self._secret_count_before = workspace.session.transcript.secret_count
        self._next_change = workspace.journal.next_number
        self._current_call: tuple[str, Mapping[str, Any]] = ("", {})
        self._lock = threading.Lock()
        self._open_prompts: dict[str, PermissionPrompt] = {}
        self._allowed_for_turn: set[ToolPermission] = set()

    def decide(
        self,
        tool_use_id: str,
        reply: PermissionReply,
        *,
        for_turn: bool = False,
        makes_rule: bool = False,
    ) -> bool:
        """Answer a permission prompt, once; with ``for_turn`` also all further ones of its kind.

        ``makes_rule``: from now on nobody is asked about the same. Returns false if no such prompt
        is open.
        """
        with self._lock:
            prompt = self._open_prompts.pop(tool_use_id, None)
            if prompt and reply.allowed and for_turn:
                self._allowed_for_turn.add(prompt.request.permission)
        if prompt:
            if reply.allowed and makes_rule:
                self._add_rule(prompt.request)
            prompt.answer(reply)
        return prompt is not None

    def _add_rule(self, request: ToolPermissionRequest) -> None:
        try:
            self._rules.add(self._workspace.root.folder, request)
        except KernelError as error:  # it is allowed this once
            logger.warning("a permission is not kept as a rule. %s", error)

    @property
    def plan_tasks(self) -> tuple[PlanTask, ...]:
        """The agent's plan, as it is now."""
        return self._workspace.session.plan.tasks

    def _run(self, backend: ChatBackend) -> Iterator[TurnEvent | TransientEvent]:
        with ExitStack() as resources:
            loop = self._build_loop(backend, resources)
            if self._asked.detailed:
                loop.try_save(loop.save)  # who is told of the session may go on with it at once
                yield AgentSessionOpened(self._workspace.session.id, self._unknown_tools)
            yield from self._load_past_turns()
            events = loop.run(self._journal.builder.request.query, self._cancel)
            for event in resources.enter_context(closing(self._thread.follow(events))):
                yield from self._handle_event(event)

    def _build_result(self) -> TurnResult:
        builder = self._journal.builder
        masked = self._workspace.session.transcript.secret_count - self._secret_count_before
        changes = tuple(builder.changes)
        summary = AgentTurnSummary(builder.request.time_ms, changes)
        return TurnResult(masked, agent_summary=summary)

    def _load_past_turns(self) -> Generator[TurnEvent, None, None]:
        """Add the turns since its last one, which were answered without the agent."""
        past, session = list(self._context.past_turns), self._workspace.session
        own = [number for number, turn in enumerate(past) if turn.session == session.id]
        others = past[own[-1] + 1 :] if own else past
        memory = yield from select_past_turns(others, self._context.settings.history_length)
        session.transcript.messages += memory.messages

    def _build_loop(self, backend: ChatBackend, resources: ExitStack) -> AgentLoop:
        turn_context, workspace = self._context, self._workspace
        allowed = (*self._allowed, *map(ToolPermission, self._asked.allow))
        context = ToolContext(
            workspace.root,
            workspace.journal,
            permissions=AskUserPolicy(allowed, self._check_permission)
            if self._asked.asks
            else AllowListPolicy(allowed),
            review=partial(review_edit, self._ask) if self._asked.reviews else None,
            search=lambda query, limit: turn_context.repository.search(query, limit, self._cancel),
            call_chain=turn_context.repository.calls,
            plan=workspace.session.plan,
        )
        resources.enter_context(closing(context))
        return AgentLoop(
            backend,
            self._registry,
            context,
            workspace.session.transcript,
            save=workspace.writer.save,
            flush=workspace.writer.flush,
            max_rounds=self._asked.rounds or MAX_AGENT_ROUNDS,
            context_tokens=turn_context.model_choice.context_tokens,
            requires_plan=self._asked.plan_first,
        )

    def _check_permission(self, request: ToolPermissionRequest) -> bool:
        """Return whether a call is allowed; runs on the agent's thread."""
        return self._ask(request).allowed

    def _ask(self, request: ToolPermissionRequest) -> PermissionReply:
        """Return what the person says of a call, or has said before."""
        with self._lock:
            is_allowed = request.permission in self._allowed_for_turn
        if is_allowed or self._rules.allows(self._workspace.root.folder, request):
            return PermissionReply(allowed=True)
        return self._thread.ask(request)

    def _handle_event(
        self, event: LoopEvent | PermissionPrompt | None
    ) -> Iterator[TurnEvent | TransientEvent]:
        """Yield what is kept of an event, and the messages that are due after it."""
        match event:
            case PermissionPrompt():
                yield self._open_prompt(event)
                return
            case TurnFailed(code, message):
                yield from map(AgentMessageShown, self._message_stream.flush())
                raise self._build_error(message, code)
            case AgentToolUsed(tool_use_id, _, arguments):
                self._current_call = (tool_use_id, arguments)
        kept = _shorten_result(event) if isinstance(event, AgentToolReturned) else event
        if kept is not None and not isinstance(kept, _NOT_KEPT):
            yield kept
        is_detailed = self._asked.detailed
        if is_detailed and isinstance(event, AgentToolReturned) and event.data:
            yield AgentToolDataShown(event.id, event.data)
        shown = self._message_stream.feed(event if is_detailed else kept)
        yield from map(AgentMessageShown, shown)
        if is_detailed and isinstance(event, RoundStarted | AgentCallsQueued):
            yield event
        if isinstance(event, AgentToolDone):
            yield from self._list_new_changes()

    def _open_prompt(self, prompt: PermissionPrompt) -> TransientEvent:
        tool_use_id, arguments = self._current_call
        with self._lock:
            self._open_prompts[tool_use_id] = prompt
        asked = prompt.request
        return PermissionRequested(
            tool_use_id,
            asked.tool,
            str(asked.permission),
            arguments,
            truncate_middle(asked.diff),
            describe_rule(asked),
        )

    def _list_new_changes(self) -> Iterator[FileChanged]:
        first, self._next_change = self._next_change, self._workspace.journal.next_number
        for change in self._workspace.journal.changes:
            if change.number >= first:
                yield FileChanged(FileChange(change.path, change.kind))

    def _build_error(self, message: str, code: str) -> KernelError:
        if self._context.cancel.is_cancelled:
            return Cancelled(message)
        return NetworkError(message) if code == NetworkError.code else KernelError(message)


def _shorten_result(event: AgentToolReturned) -> AgentToolDone:
    """Return what is shown and kept of a result: its ends, and what an edit has changed."""
    diff = event.data.get("diff")
    shown = truncate_middle(diff) if isinstance(diff, str) else ""
    denied = event.data.get("denied") is True
    return AgentToolDone(event.id, truncate_middle(event.text), event.success, shown, denied)


class AgentTurns:
    """The agents' turns in conversations of one userData folder; safe to use from any thread."""

    def __init__(self, user_data: Path, conversations: Conversations) -> None:
        self._user_data = user_data
        self._conversations = conversations
        self.rules = PermissionRules(user_data / "agent" / "permission-rules.json")
        self._sessions = AgentSessionStore(user_data, conversations.save_retry.start)
        conversations.save_retry.add_saver(self._sessions.save_unsaved)

    def begin(
        self,
        task: BeginAgentTurn,
        place: RepositoryAccess,
        cancel: CancelToken,
        allowed: Collection[ToolPermission] = DEFAULT_ALLOWED_PERMISSIONS,
    ) -> RunningAgentTurn:
        """Accept a task; ``allowed`` needs no permission. Raises as ``Conversations.begin``."""
        workspace = AgentWorkspace(self._user_data, place.root, self._sessions, task.within)
        conversation_id = task.conversation_id

        def prepare(past: Sequence[PastTurn], resources: ExitStack) -> AgentTurnRef:
            return workspace.prepare(conversation_id, task.session, past, resources)

        accepted = self._conversations.accept(task, place, cancel, prepare)
        return RunningAgentTurn(accepted, workspace, task, allowed, self.rules)

    def undo(self, conversation_id: int, time_ms: int, folder: Path) -> list[UndoResult]:
        """Undo the changes of the turn of this time and return the result for each file.

        Raises WrongParam while a turn is running, or if there is no such turn.
        """
        with self._conversations.lock_conversation(conversation_id, UNDO_REFUSAL):
            history = self._conversations.archive.read(conversation_id, str(folder))
            turn, end = _find_turn(history, time_ms)
            if turn.agent is None:
                raise WrongParam("This turn was a question: nothing was changed by it.")
            root, first = WorkspaceRoot.from_path(folder), turn.agent.first_change
            undone = undo_session(self._user_data, turn.agent.session, root, first, end)
            self._record_undo(conversation_id, turn, undone)
        return undone

    def undo_session(self, name: str, folder: Path) -> list[UndoResult]:
        """Undo the changes of all turns of a session and return the result for each file.

        Raises KernelError if there is no such session, or while it is at work.
        """
        root, conversation_id = WorkspaceRoot.from_path(folder), 0
        with suppress(KernelError):  # its journal can be undone without it
            conversation_id = self._sessions.load(name).conversation_id
        if not conversation_id:  # of an earlier version's terminal
            return undo_session(self._user_data, name, root)
        with self._conversations.lock_conversation(conversation_id, UNDO_REFUSAL):
            history = self._conversations.archive.read(conversation_id, str(folder))
            undone = undo_session(self._user_data, name, root)
            for turn in history.history:
                changed = {each.path for each in turn.agent.changes} if turn.agent else set()
                self._record_undo(
                    conversation_id, turn, [each for each in undone if each.path in changed]
                )
        return undone

    def _record_undo(
        self, conversation_id: int, turn: TurnEntry, undone: Sequence[UndoResult]
    ) -> None:
        if not turn.agent or not undone:
            return
        before = (
            UndoResult(each.path, UndoState(each.state), each.reason)
            for each in turn.agent.undone or ()
        )
        latest = {each.path: each for each in (*before, *undone)}
        self._conversations.record_undo(conversation_id, turn.time, list(latest.values()))

    def delete(self, conversation_id: int, folder: Path) -> None:
        """Delete a conversation and the undo journals of its agents. Raises WrongParam."""
        history = self._conversations.archive.read(conversation_id, str(folder))
        self._conversations.delete(conversation_id, str(folder))
        kept = self._user_data / "agent"
        for session in {turn.agent.session for turn in history.history if turn.agent}:
            if session.isalnum():  # an id of ours
                for name in (f"{session}.json", f"{session}.lock"):
                    (kept / "sessions" / name).unlink(missing_ok=True)
                shutil.rmtree(kept / "journals" / session, ignore_errors=True)


def _find_turn(history: HistoryFile, time_ms: int) -> tuple[TurnEntry, int]:
    """Return the turn of a time, and the number of the first change after it."""
    turns = history.history
    number = next((each for each, turn in enumerate(turns) if turn.time == time_ms), None)
    if number is None:
        raise WrongParam(
            f"Conversation {history.conversation_id} has no turn of the time {time_ms}."
        )
    turn = turns[number]
    later = [
        each.agent.first_change
        for each in turns[number + 1 :]
        if each.agent and turn.agent and each.agent.session == turn.agent.session
    ]
    return turn, min(later, default=sys.maxsize)
