"""Runs the messages that wait in each session, one after another, on a thread of its own."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.agent_sessions import (
    NOTICE_INTERRUPTED,
    NOTICE_STOPPED,
    Actor,
    SessionMessage,
)
from codekernel.domain.chat import ROLE_ASSISTANT, AgentMessage, TextContent
from codekernel.errors import Cancelled, KernelError, SessionNotFound, StorageError
from codekernel.sync.agents import AgentUpdate, BackendPool, PlanUpdated
from codekernel.sync.permissions import PermissionDesk
from codekernel.sync.state import AGENT_DEVICE, SyncState
from codekernel.sync.store import make_id

logger = logging.getLogger(__name__)

INTERRUPTED_TEXT = "The kernel ended during this turn. What was said is kept; ask again to go on."

_CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class TurnServices:
    """What a turn works with.

    ``on_turn_end`` is called with its session, under the lock of the state.
    """

    state: SyncState
    backends: BackendPool
    desk: PermissionDesk
    on_turn_end: Callable[[str], None]


class TurnRunner:
    """The thread of one session; it ends when no message waits."""

    def __init__(
        self,
        session_id: str,
        services: TurnServices,
        on_end: Callable[["TurnRunner"], None],
    ) -> None:
        """``on_end`` is called under the state's lock, so that no message is overlooked."""
        self.session_id = session_id
        self._state = services.state
        self._backends = services.backends
        self._desk = services.desk
        self._on_turn_end = services.on_turn_end
        self._on_end = on_end
        self._first: SessionMessage | None = None
        self._own_id = ""
        self._is_last_turn = False
        self._stopped_by: Actor | None = None
        self._is_closing = False
        # The ids of messages that grow, by the agent's names of them in this turn.
        self._growing_ids: dict[str, str] = {}
        # Messages that the disk has refused.
        self._unsaved: list[tuple[AgentMessage, dict[str, str]]] = []
        self._thread = threading.Thread(target=self._run, name="agent-turns", daemon=True)

    def start(self, first: SessionMessage | None = None) -> None:
        """Begin with a message that was taken already, or with the oldest one that waits."""
        self._first = first
        self._thread.start()

    def stop(self, actor: Actor) -> None:
        """Stop the present turn; the next message that waits is taken after it."""
        self._stopped_by = actor
        self._cancel_prompt()

    def close(self) -> None:
        """Interrupt the present turn, because the kernel ends; take no further message."""
        self._is_closing = True
        self._cancel_prompt()

    def end_after_turn(self) -> None:
        """Take no further message."""
        self._is_last_turn = True

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the end; false if it takes longer."""
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        has_failed = True
        try:
            message = self._take_next()
            while message is not None:
                message = self._run_turn(message)
            has_failed = False
        except SessionNotFound:
            logger.info("the session %s was lost while its agent worked", self.session_id)
        except KernelError:  # the disk refuses; the next start goes on
            logger.exception("the agent of %s cannot go on", self.session_id)
        finally:
            with self._state.lock:
                if has_failed:
                    self._on_turn_end(self.session_id)
                self._on_end(self)

    def _take_next(self) -> SessionMessage | None:
        with self._state.lock:
            first, self._first = self._first, None
            if first:
                return first
            waiting = self._state.store.find_next_queued(self.session_id)
            if waiting is None or self._is_closing or self._is_last_turn:
                self._on_end(self)
                return None
            self._stopped_by = None
            self._growing_ids = {}
            return self._state.take(waiting)

    def _run_turn(self, message: SessionMessage) -> SessionMessage | None:
        """Run a turn; return the next message, if one waits."""
        try:
            reason = self._prompt(message)
        except Cancelled:
            reason = _CANCELLED
        except KernelError as error:
            reason = self._append_failure(str(error))
        except Exception:  # a bug of an agent must not leave its session at work for ever
            logger.exception("the agent of %s failed unexpectedly", self.session_id)
            reason = self._append_failure("The agent failed unexpectedly; the log says why.")
        with self._state.lock:
            self._save_messages()
            self._desk.cancel_open(self.session_id)
            if self._is_closing:
                self._state.append_notice(self.session_id, NOTICE_INTERRUPTED, INTERRUPTED_TEXT)
            elif reason == _CANCELLED:
                self._state.append_notice(self.session_id, NOTICE_STOPPED, self._explain_stop())
            self._state.update(self.session_id, is_thinking=False)
            following = self._take_next()
            # Whoever hears of the end finds the session free, and nobody has begun a turn before.
            self._on_turn_end(self.session_id)
            return following

    def _append_failure(self, text: str) -> str:
        """Append why the agent failed; return how the turn ended."""
        content = (TextContent(text),)
        self._append(AgentMessage(ROLE_ASSISTANT, content, {"is_error": True}))
        return "failed"

    def _prompt(self, message: SessionMessage) -> str:
        record = self._state.get_session(self.session_id)
        with self._state.lock:
            known = self._state.store.get_backend_session(self.session_id)
        self._own_id = self._backends.resume_session(record, known)
        if self._own_id != known:
            with self._state.lock:
                self._state.store.set_backend_session(self.session_id, self._own_id)
        if self._is_cancelled:  # also a turn that was stopped before it began is ended by its agent
            self._cancel_prompt()
        text = "\n\n".join(
            block.text for block in message.message.content if isinstance(block, TextContent)
        )
        return self._backends.prompt(record.agent, self._own_id, text, self._handle_update)

    @property
    def _is_cancelled(self) -> bool:
        return self._is_closing or self._stopped_by is not None

    def _cancel_prompt(self) -> None:
        if self._own_id:
            kind = self._state.get_session(self.session_id).agent
            self._backends.cancel_prompt(kind, self._own_id)

    def _handle_update(self, update: AgentUpdate) -> None:
        """Keep what is complete and tell the rest; called by the agent, on any thread."""
        if self._is_cancelled:  # before the agent had begun, so that it did not notice
            self._cancel_prompt()
        if isinstance(update, PlanUpdated):
            with suppress(StorageError):  # the next plan is whole, too
                self._state.update(self.session_id, plan=update.entries)
        elif isinstance(update, AgentMessage):
            self._handle_message(update)

    def _handle_message(self, message: AgentMessage) -> None:
        name = message.meta.get("id")
        message_id = self._growing_ids.setdefault(name, make_id()) if name else make_id()
        if message.meta.get("complete", True):
            self._append(message, id=message_id)
        else:
            self._state.tell_growing(self.session_id, message_id, message)

    def _append(self, message: AgentMessage, **fields: str) -> None:
        """Append a message; while the disk refuses, it waits in memory and the agent goes on."""
        self._unsaved.append((message, fields))
        try:
            self._save_messages()
        except StorageError as error:
            logger.warning("%d messages of an agent wait. %s", len(self._unsaved), error)

    def _save_messages(self) -> None:
        agent = self._state.get_session(self.session_id).agent
        with self._state.lock:
            while self._unsaved:
                message, fields = self._unsaved[0]
                actor = Actor(AGENT_DEVICE, agent)
                self._state.append(self.session_id, message, actor, **fields)
                self._unsaved.pop(0)

    def _explain_stop(self) -> str:
        by = self._stopped_by
        return f"Stopped by {by.name or by.device}." if by else "The agent was stopped."


class RunnerTable:
    """The running turns by session; safe to use from any thread."""

    def __init__(self, services: TurnServices, on_idle: Callable[[], None]) -> None:
        """``on_idle`` is called when the last agent has ended."""
        self._services = services
        self._state = services.state
        self._on_idle = on_idle
        self._runners: dict[str, TurnRunner] = {}
        # Sessions, or conversations without one, in which a window is about to begin a turn.
        self._reserved: set[str] = set()
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        """Whether an agent works, or waits for a permission."""
        return bool(self._runners or self._reserved)

    @property
    def is_working(self) -> bool:
        """Whether an agent works, and does not wait for a permission."""
        with self._state.lock:
            sessions = self._state.store.list_sessions()
            waiting = {each.id for each in sessions if each.pending_permissions}
            return bool(self._reserved or self._runners.keys() - waiting)

    def has(self, name: str) -> bool:
        """Return whether an agent works in a session, or is about to."""
        return name in self._runners or name in self._reserved

    def reserve(self, name: str) -> bool:
        """Start nothing in a session until ``release``; false if an agent works there.

        The lock is held.
        """
        if self.has(name):
            return False
        self._reserved.add(name)
        return True

    def release(self, name: str) -> None:
        """Let a session start again; the lock is held."""
        self._reserved.discard(name)

    def start(self, session_id: str, first: SessionMessage | None = None) -> bool:
        """Run ``first`` and what waits; the lock is held.

        Returns false if an agent works there already, or the kernel ends.
        """
        if self.has(session_id) or self._is_closed:
            return False
        runner = TurnRunner(session_id, self._services, self._end)
        self._runners[session_id] = runner
        runner.start(first)
        return True

    def stop(self, session_id: str, actor: Actor) -> None:
        """Stop the turn of a session; stopping nothing succeeds."""
        if runner := self._runners.get(session_id):
            runner.stop(actor)

    def retire(self) -> None:
        """Begin no further turn: a newer kernel goes on with what waits."""
        with self._state.lock:
            self._is_closed = True
            runners = list(self._runners.values())
        for runner in runners:
            runner.end_after_turn()

    def stop_folder(self, folder: Path, timeout_seconds: float) -> None:
        """Stop the agents in a folder whose repository is deleted, and wait for their end."""
        with self._state.lock:
            folders = {each.id: each.folder for each in self._state.store.list_sessions()}
            runners = [
                runner for name, runner in self._runners.items() if Path(folders[name]) == folder
            ]
        _close_all(runners, timeout_seconds)

    def close(self, timeout_seconds: float) -> None:
        """Interrupt every turn; those that do not end in time are found by the next kernel."""
        self.retire()
        _close_all(list(self._runners.values()), timeout_seconds)

    def _end(self, runner: TurnRunner) -> None:
        if self._runners.get(runner.session_id) is runner:
            del self._runners[runner.session_id]
            if not self._runners:
                self._on_idle()


def _close_all(runners: list[TurnRunner], timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    for runner in runners:
        runner.close()
    for runner in runners:
        runner.join(max(0.0, deadline - time.monotonic()))
