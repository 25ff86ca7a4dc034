"""Numbered events with replay; the store and the event log, changed together under one lock.

Whatever is on disk is told afterwards, and in the same order.
"""

import logging
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from codekernel.domain.agent_sessions import (
    META_NOTICE,
    Actor,
    AgentSessionRecord,
    EventPosition,
    EventSubscription,
    SessionMessage,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.chat import ROLE_AGENT, AgentMessage, TextContent
from codekernel.protocol.envelope import dump_json
from codekernel.sync.store import SyncStore, get_time_ms

logger = logging.getLogger(__name__)

# Hours of one person's agents; the published contract's own server keeps 256 events.
MAX_KEPT_EVENTS = 8_192
MAX_KEPT_BYTES = 32 * 1024 * 1024

# What a reader may leave unread: more than everything that can be replayed.
MAX_UNREAD_EVENTS = 2 * MAX_KEPT_EVENTS
MAX_UNREAD_BYTES = 2 * MAX_KEPT_BYTES

_Entry = tuple[SyncEvent, int]


class EventReader:
    """The events of one subscriber, in order; one thread iterates, any thread may close."""

    def __init__(self, replayed: list[_Entry], on_closed: Callable[["EventReader"], None]) -> None:
        self._waiting: deque[_Entry] = deque(replayed)
        self._waiting_bytes = sum(size for _, size in replayed)
        # The newest growing message of each session; they are told after what waits.
        self._growing: dict[str, SyncEvent] = {}
        self._on_closed = on_closed
        self._is_closed = False
        self._changed = threading.Condition()

    def put(self, entry: _Entry) -> None:
        """Add an event; too many that are not read end the reader."""
        event, size = entry
        with self._changed:
            if self._is_closed:
                return
            if event.kind is SyncEventKind.MESSAGE_GROWING:
                self._growing[event.session_id] = event
            else:
                if event.kind is SyncEventKind.MESSAGE_RECEIVED:  # it may be the one that grew
                    self._growing.pop(event.session_id, None)
                self._waiting.append(entry)
                self._waiting_bytes += size
            self._changed.notify_all()
            is_slow = (
                len(self._waiting) > MAX_UNREAD_EVENTS or self._waiting_bytes > MAX_UNREAD_BYTES
            )
        if is_slow:
            logger.warning("a reader of agent events was cut off: it does not read")
            self.close()

    def __iter__(self) -> Iterator[SyncEvent]:
        """Yield events until the reader is closed."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: bool(self._is_closed or self._waiting or self._growing)
                )
                if self._is_closed:
                    return
                if self._waiting:
                    event, size = self._waiting.popleft()
                    self._waiting_bytes -= size
                else:
                    event = self._growing.pop(next(iter(self._growing)))
            yield event

    def close(self) -> None:
        """End the iteration; what waits is dropped."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._growing.clear()
            self._changed.notify_all()
        self._on_closed(self)


class EventLog:
    """The events of one run of the engine; safe to use from any thread."""

    def __init__(self, max_events: int = MAX_KEPT_EVENTS) -> None:
        self._max_events = max_events
        self._run = secrets.token_hex(8)
        self._last_id = 0
        self._kept: deque[_Entry] = deque()
        self._kept_bytes = 0
        self._readers: list[EventReader] = []
        self._lock = threading.Lock()

    def publish(self, event: SyncEvent) -> None:
        """Number an event and tell every reader; a growing message gets no number."""
        is_kept = event.kind is not SyncEventKind.MESSAGE_GROWING
        size = _measure(event) if is_kept else 0
        with self._lock:
            if is_kept:
                self._last_id += 1
                event = replace(event, id=self._last_id)
                self._kept.append((event, size))
                self._kept_bytes += size
                while len(self._kept) > self._max_events or self._kept_bytes > MAX_KEPT_BYTES:
                    self._kept_bytes -= self._kept.popleft()[1]
            readers = list(self._readers)
            # Within the lock, so that every reader has the events in their order.
            for reader in readers:
                reader.put((event, size))

    def open_reader(self, after: EventPosition | None) -> tuple[EventReader, EventPosition, bool]:
        """Return a reader, where it begins, and whether it misses nothing since ``after``."""
        with self._lock:
            first_kept = self._kept[0][0].id if self._kept else self._last_id + 1
            is_resumed = (
                after is not None
                and after.run == self._run
                and first_kept - 1 <= after.id <= self._last_id
            )
            replayed: list[_Entry] = []
            position = EventPosition(self._run, self._last_id)
            if is_resumed and after is not None:
                replayed = [each for each in self._kept if each[0].id > after.id]
                position = after
            reader = EventReader(replayed, self._remove)
            self._readers.append(reader)
            return reader, position, is_resumed

    def subscribe(
        self, deliver: Callable[[SyncEvent], None], after: EventPosition | None
    ) -> EventSubscription:
        """Call ``deliver`` with each event, on a thread of the subscription's own."""
        reader, position, is_resumed = self.open_reader(after)

        def run() -> None:
            try:
                for event in reader:
                    deliver(event)
            finally:
                reader.close()

        threading.Thread(target=run, name="agent-events", daemon=True).start()
        return EventSubscription(position, is_resumed, reader.close)

    def restart(self) -> None:
        """Begin a new run: nothing of the old one can be replayed, and every reader ends."""
        with self._lock:
            self._run = secrets.token_hex(8)
            self._last_id = self._kept_bytes = 0
            self._kept.clear()
            readers = list(self._readers)
        for reader in readers:
            reader.close()

    def _remove(self, reader: EventReader) -> None:
        # Without the lock, which is held while a reader is cut off; removing is atomic.
        with suppress(ValueError):
            self._readers.remove(reader)


def _measure(event: SyncEvent) -> int:
    """Return about how many bytes an event takes."""
    message = event.message.message.to_json() if event.message else None
    return len(dump_json((event.session, message)))


# The actor of what an agent says, and of what the engine itself does.
AGENT_DEVICE, ENGINE_DEVICE = "agent", "kernel"


class SyncState:
    """The sessions, and who is told of their changes; safe to use from any thread."""

    def __init__(self, store: SyncStore, log: EventLog) -> None:
        self.store = store
        self.log = log
        # Held for every change and its event, and for a decision that depends on the state.
        self.lock = threading.RLock()

    def get_session(self, session_id: str) -> AgentSessionRecord:
        """Return one session. Raises SessionNotFound."""
        with self.lock:
            return self.store.get_session(session_id)

    def append(
        self, session_id: str, message: AgentMessage, actor: Actor, **fields: Any
    ) -> SessionMessage:
        """Append a message and tell it; ``fields`` as ``SyncStore.append_message`` takes them."""
        with self.lock:
            appended = self.store.append_message(session_id, message, actor, **fields)
            self.publish(SyncEventKind.MESSAGE_RECEIVED, session_id, message=appended)
            return appended

    def append_notice(self, session_id: str, kind: str, text: str) -> None:
        """Append a message of the engine, which is for a person."""
        message = AgentMessage(ROLE_AGENT, (TextContent(text),), {META_NOTICE: kind})
        self.append(session_id, message, Actor(ENGINE_DEVICE))

    def tell_growing(self, session_id: str, message_id: str, message: AgentMessage) -> None:
        """Tell a message that is not complete; it is not kept, and has no number."""
        growing = SessionMessage(
            message_id, session_id, 0, get_time_ms(), message, Actor(AGENT_DEVICE)
        )
        self.publish(SyncEventKind.MESSAGE_GROWING, session_id, message=growing)

    def take(self, waiting: SessionMessage) -> SessionMessage:
        """Record that the agent begins with a message, and tell it."""
        with self.lock:
            taken = self.store.take_message(waiting)
            self.publish(
                SyncEventKind.MESSAGES_CONSUMED,
                taken.session_id,
                message=taken,
                local_ids=(taken.local_id,) if taken.local_id else (),
            )
            self.tell_session(self.store.get_session(taken.session_id))
            return taken

    def update(self, session_id: str, **changes: Any) -> AgentSessionRecord:
        """Change a session and tell it. Raises SessionNotFound."""
        with self.lock:
            record = self.store.update_session(session_id, **changes)
            self.tell_session(record)
            return record

    def tell_session(self, record: AgentSessionRecord) -> None:
        """Tell the state of a session."""
        self.publish(SyncEventKind.SESSION_UPDATED, record.id, session=record)

    def publish(self, kind: SyncEventKind, session_id: str, **fields: Any) -> None:
        """Tell every reader of an event."""
        self.log.publish(SyncEvent(0, kind, session_id, **fields))
