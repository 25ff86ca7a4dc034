"""What is shown of a running turn, for any number of windows at any time."""

import threading
from collections.abc import Iterator
from pathlib import Path

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn_events import (
    AgentMessageShown,
    PermissionRequested,
    ShownEvent,
    TransientEvent,
    TurnDone,
)
from codekernel.protocol.messages.agent_turns import BeginAgentTurn
from codekernel.protocol.messages.conversation import BeginConversation

FeedEvent = TransientEvent | ShownEvent


class TurnFeed:
    """The events of one turn: whoever follows gets those so far, then the others as they come.

    A message that grows is repeated whole, so only its newest state is kept.
    """

    def __init__(self, task: BeginAgentTurn | BeginConversation, folder: Path) -> None:
        self.task = task
        self.folder = folder
        self._events: list[FeedEvent] = []
        self._growing: AgentMessageShown | None = None
        self._growth = 0  # how often a message has grown
        self._done: TurnDone | None = None
        self._is_closed = False
        self._asked: dict[str, PermissionRequested] = {}
        self._changed = threading.Condition()

    def note_permission(self, event: PermissionRequested) -> None:
        """Remember what a tool waits for, until it can be answered and is shown."""
        self._asked[event.tool_use_id] = event

    def show_permission(self, asked: PermissionRequested) -> None:
        """Add a permission that can be answered now, with what only the agent knows of it."""
        self.append(self._asked.get(asked.tool_use_id, asked))

    def append(self, event: FeedEvent) -> None:
        """Add an event; the last one is held back until ``close``."""
        with self._changed:
            if isinstance(event, TurnDone):
                self._done = event
            if self._is_closed or self._done:
                return
            if isinstance(event, AgentMessageShown) and _is_growing(event):
                self._growing = event
                self._growth += 1
            else:
                if isinstance(event, AgentMessageShown):
                    self._growing = None
                self._events.append(event)
            self._changed.notify_all()

    def close(self) -> None:
        """Show the last event, if there is one, and end: the session is free for the next turn."""
        with self._changed:
            if self._done and not self._is_closed:
                self._events.append(self._done)
            self._is_closed = True
            self._changed.notify_all()

    def follow(self, cancel: CancelToken) -> Iterator[FeedEvent]:
        """Yield the events until the end of the turn, or until cancelled."""
        position, growth, is_over = 0, 0, False
        with cancel.on_cancel(self._wake):
            while not is_over and not cancel.is_cancelled:
                events, growth, is_over = self._wait_for_events(position, growth, cancel)
                position += sum(not _is_growing(event) for event in events)
                yield from events

    def _wait_for_events(
        self, position: int, growth: int, cancel: CancelToken
    ) -> tuple[list[FeedEvent], int, bool]:
        """Return what is new since a position, how far messages have grown, whether it is all."""

        def is_changed() -> bool:
            has_grown = self._growing is not None and self._growth > growth
            is_longer = len(self._events) > position
            return self._is_closed or cancel.is_cancelled or is_longer or has_grown

        with self._changed:
            self._changed.wait_for(is_changed)
            events = self._events[position:]
            if self._growing is not None and self._growth > growth:
                events.append(self._growing)
            return events, self._growth, self._is_closed

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _is_growing(event: FeedEvent) -> bool:
    return isinstance(event, AgentMessageShown) and not event.message.meta.get("complete", True)


class TurnFeeds:
    """The feeds of the running turns by conversation; safe to use from any thread."""

    def __init__(self) -> None:
        self._feeds: dict[int, TurnFeed] = {}
        self._lock = threading.Lock()

    def open(self, task: BeginAgentTurn | BeginConversation, folder: Path) -> TurnFeed:
        """Begin the feed of a turn."""
        with self._lock:
            feed = self._feeds[task.conversation_id] = TurnFeed(task, folder)
            return feed

    def list_all(self) -> list[TurnFeed]:
        """Return the feeds of all running turns."""
        with self._lock:
            return list(self._feeds.values())

    def find(self, conversation_id: int) -> TurnFeed | None:
        """Return the feed of the turn that runs in a conversation."""
        with self._lock:
            return self._feeds.get(conversation_id)

    def end(self, feed: TurnFeed) -> None:
        """Remove the feed of a turn that has ended; those who follow read it to its end."""
        feed.close()
        conversation_id = feed.task.conversation_id
        with self._lock:
            if self._feeds.get(conversation_id) is feed:
                del self._feeds[conversation_id]
