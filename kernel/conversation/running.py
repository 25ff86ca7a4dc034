"""Which conversations run in this kernel: one turn of each at a time, stopped from anywhere.

A question waits for its thread, and for its session to be prepared; a stop does not wait. So a
question is announced when it arrives, and one that was stopped before it began ends at once.
"""

import threading
from collections.abc import Callable

from kernel.domain.cancel import CancelToken
from kernel.errors import WrongParam


class Running:
    """The turns under way, by conversation; ``on_crowd`` hears how many, at every change."""

    def __init__(self) -> None:
        self.on_crowd: Callable[[int], None] = lambda _: None
        self._tokens: dict[int, CancelToken] = {}
        self._announced: set[int] = set()
        self._stopped_early: set[int] = set()
        self._lock = threading.Lock()

    def announce(self, conversation_id: int) -> None:
        """A question of this conversation has arrived and will begin; no stop was meant for it."""
        with self._lock:
            if conversation_id not in self._tokens:
                self._announced.add(conversation_id)
                self._stopped_early.discard(conversation_id)

    def enter(self, conversation_id: int, cancel: CancelToken) -> None:
        """Begin a turn; raises WrongParam while another of this conversation is under way."""
        with self._lock:
            if conversation_id in self._tokens:
                raise WrongParam(already_running(conversation_id))
            self._tokens[conversation_id] = cancel
            self._announced.discard(conversation_id)
            stopped = conversation_id in self._stopped_early
            self._stopped_early.discard(conversation_id)
            self.on_crowd(len(self._tokens))
        if stopped:
            cancel.cancel()

    def hold(self, conversation_id: int) -> bool:
        """Keep questions away until ``leave``; false while one is being answered."""
        with self._lock:
            if conversation_id in self._tokens:
                return False
            self._tokens[conversation_id] = CancelToken()
            return True

    def leave(self, conversation_id: int) -> None:
        """The turn is over."""
        with self._lock:
            self._tokens.pop(conversation_id, None)
            self.on_crowd(len(self._tokens))

    def withdraw(self, conversation_id: int) -> None:
        """The announced question was refused before it began."""
        with self._lock:
            self._announced.discard(conversation_id)
            self._stopped_early.discard(conversation_id)

    def stop(self, conversation_id: int) -> bool:
        """Ask a turn to end; false if there is none."""
        with self._lock:
            token = self._tokens.get(conversation_id)
            if token is None and conversation_id in self._announced:
                self._stopped_early.add(conversation_id)
                return True
        if token is not None:
            token.cancel()
        return token is not None


def already_running(conversation_id: int) -> str:
    """What a second question is told."""
    return (
        f"Conversation {conversation_id} is still answering the question before this one:"
        " wait for its end, or stop it, and ask again."
    )


def cannot_be_deleted(conversation_id: int) -> str:
    """What is told whoever deletes a conversation too early."""
    return (
        f"Conversation {conversation_id} is being answered: wait for its end, or stop it,"
        " and delete it then."
    )


def cannot_be_undone(conversation_id: int) -> str:
    """What is told whoever undoes a turn too early."""
    return (
        f"Conversation {conversation_id} is still at work: wait for its end, or stop it,"
        " and undo it then."
    )
