"""The sessions whose agents work: at most one turn of each runs, and all end with the kernel."""

import time
from collections.abc import Callable
from pathlib import Path

from codekernel.domain.agent_sessions import Actor, SessionMessage
from codekernel.sync.runner import TurnRunner, TurnServices


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
