"""The last events of all machines for replay, and one connection for each device that listens.

Events have one order and numbers of the hub. A connection is what waits for a device, heartbeat,
visibility and notices; it runs on the event loop, events come in from the threads of machines.
"""

import asyncio
import hashlib
import secrets
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, field

from codekernel.adapters.hub.contract.sessions import (
    encode_json,
    render_connected,
    render_frame,
    render_heartbeat,
    render_toast,
)
from codekernel.adapters.hub.devices import NAMESPACE
from codekernel.domain.agent_sessions import AgentSessionRecord, SyncEvent, SyncEventKind
from codekernel.domain.chat import JsonObject

# A phone that slept through a busy turn misses some hundreds; the contract's own hub keeps 256.
MAX_EVENTS = 8_192

MAX_BYTES = 32 * 1024 * 1024

_EPOCH_CHARS = 8

MAX_ID_DIGITS = 19


@dataclass(frozen=True, slots=True)
class HubEvent:
    """An event with its frame; ``id`` is 0 if it is never replayed."""

    id: int
    session_id: str
    machine_id: str
    frame: bytes
    sync: SyncEvent | None = None
    # Of a growing message, its session: of several that wait to be sent, only the last is.
    replaces: str = ""


class HubEventLog:
    """Safe to use from any thread; listeners are called in the order of the events."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        # Cursors of an earlier run of the hub never match.
        self.epoch = secrets.token_hex(_EPOCH_CHARS // 2)
        digest = hashlib.sha256(f"{self.epoch}|{NAMESPACE}".encode()).hexdigest()
        self._tag = digest[:_EPOCH_CHARS]
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: deque[HubEvent] = deque()
        self._bytes = 0
        self._last_id = 0
        self._listeners: list[Callable[[HubEvent], None]] = []
        self._lock = threading.RLock()

    @property
    def last_id(self) -> int:
        """The number of the last event."""
        with self._lock:
            return self._last_id

    def append(
        self,
        payload: JsonObject,
        *,
        session_id: str = "",
        machine_id: str = "",
        sync: SyncEvent | None = None,
        replaces: str = "",
    ) -> None:
        """Number an event, keep it and tell it; one that another ``replaces`` is only told."""
        content = encode_json(payload)
        with self._lock:
            if replaces:
                event = HubEvent(0, session_id, machine_id, render_frame(content), sync, replaces)
            else:
                self._last_id += 1
                frame = render_frame(content, self.format_id(self._last_id))
                event = HubEvent(self._last_id, session_id, machine_id, frame, sync)
                self._keep(event)
            for listener in self._listeners:
                listener(event)

    def listen(
        self, listener: Callable[[HubEvent], None], after: int | None = None
    ) -> tuple[int, bool, Callable[[], None]]:
        """Call ``listener`` with what followed after a number, if that is known, and from now on.

        Returns the number of the last event before, whether nothing is missing, and what ends it.
        The listener must not block.
        """
        with self._lock:
            missed = None if after is None else self.read_after(after)
            last = self._last_id
            for event in missed or ():
                listener(event)
            self._listeners.append(listener)
        return last, missed is not None, lambda: self._remove(listener)

    def read_after(self, event_id: int) -> list[HubEvent] | None:
        """Return the events after a number; None if some of them are forgotten, or unknown."""
        with self._lock:
            first = self._events[0].id if self._events else self._last_id + 1
            if not first - 1 <= event_id <= self._last_id:
                return None
            skipped = event_id - first + 1
            return [self._events[index] for index in range(skipped, len(self._events))]

    def format_id(self, event_id: int) -> str:
        """Return the id that a client sees and sends back."""
        return f"{self.epoch}:{event_id}:{self._tag}"

    def parse_id(self, text: str) -> int | None:
        """Return the number of an id; None if it is not of this run of the hub."""
        epoch, _, rest = text.partition(":")
        number, _, tag = rest.partition(":")
        is_ours = epoch == self.epoch and tag == self._tag
        is_number = number.isascii() and number.isdecimal() and len(number) <= MAX_ID_DIGITS
        return int(number) if is_ours and is_number else None

    def _keep(self, event: HubEvent) -> None:
        self._events.append(event)
        self._bytes += len(event.frame)
        while len(self._events) > self._max_events or (
            self._bytes > self._max_bytes and len(self._events) > 1
        ):
            self._bytes -= len(self._events.popleft().frame)

    def _remove(self, listener: Callable[[HubEvent], None]) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)


# Frames that are sent together; they are copied once.
_CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class EventLimits:
    """What the streams of a hub may take; tests lower it."""

    heartbeat_interval_seconds: float = 30.0
    max_connections: int = 1_000
    # What waits for a device that does not read, besides its replay; beyond it the device is cut
    # off, and reads on later.
    max_waiting_bytes: int = 8 * 1024 * 1024


DEFAULT_EVENT_LIMITS = EventLimits()


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events a connection gets."""

    everything: bool = False
    session_id: str = ""
    machine_id: str = ""

    def matches(self, event: HubEvent) -> bool:
        """Return whether an event is for this connection."""
        if self.everything:
            return True
        if event.session_id:
            return event.session_id == self.session_id
        return bool(event.machine_id) and event.machine_id == self.machine_id


@dataclass(slots=True)
class EventConnection:
    """A connected device."""

    device_id: str
    wanted: EventFilter
    is_visible: bool
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    # Events up to this number were sent with the replay.
    replayed_id: int = 0
    is_closed: bool = False
    _waiting: deque[bytes] = field(default_factory=deque)
    # The newest growing message of each session; they are sent after what waits.
    _growing: dict[str, bytes] = field(default_factory=dict)
    _waiting_bytes: int = 0
    _max_waiting_bytes: int = 0
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    last_heartbeat: float = field(default_factory=time.monotonic)

    def push(self, event: HubEvent) -> None:
        """Queue an event that is wanted."""
        is_replayed = 0 < event.id <= self.replayed_id
        if not self.is_closed and not is_replayed and self.wanted.matches(event):
            if event.replaces:
                self._growing[event.replaces] = event.frame
                self._wake.set()
            else:
                self._growing.pop(event.session_id, None)  # it may be the message that grew
                self._queue(event.frame)

    def push_replay(self, first: bytes, missed: Sequence[HubEvent], max_waiting_bytes: int) -> None:
        """Queue the first frame and what was missed, however much that is."""
        self._max_waiting_bytes = max_waiting_bytes + sum(len(each.frame) for each in missed)
        self.push_frame(first)
        for event in missed:
            self.push(event)
        if missed:
            self.replayed_id = missed[-1].id

    def push_frame(self, frame: bytes) -> None:
        """Queue a frame, whatever is wanted."""
        if not self.is_closed:
            self._queue(frame)

    def close(self) -> None:
        """End the connection; the device connects again, if it may."""
        self.is_closed = True
        self._wake.set()

    async def iterate_chunks(self) -> AsyncIterator[bytes]:
        """Yield frames, those that wait together."""
        while not self.is_closed:
            if chunk := self._take_waiting():
                yield chunk
            await self._wake.wait()

    def _queue(self, frame: bytes) -> None:
        self._waiting.append(frame)
        self._waiting_bytes += len(frame)
        self._wake.set()
        if self._waiting_bytes > self._max_waiting_bytes:
            self.close()

    def _take_waiting(self) -> bytes:
        self._wake.clear()
        frames: list[bytes] = []
        size = 0
        while self._waiting and size < _CHUNK_BYTES:
            frames.append(self._waiting.popleft())
            size += len(frames[-1])
        self._waiting_bytes -= size
        if self._waiting:
            self._wake.set()
        else:
            frames += self._growing.values()
            self._growing.clear()
        return b"".join(frames)


class EventBroadcaster:
    """Tells every connection what the log gets."""

    def __init__(self, log: HubEventLog, limits: EventLimits = DEFAULT_EVENT_LIMITS) -> None:
        self._log = log
        self._limits = limits
        self._connections: dict[str, EventConnection] = {}
        self._arrived: deque[HubEvent] = deque()
        self._notices = NoticeFinder()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_listening: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin to tell events, on the loop that runs."""
        self._loop = asyncio.get_running_loop()
        _, _, self._stop_listening = self._log.listen(self._note_event)

    def stop(self) -> None:
        """End every connection."""
        self._stop_listening()
        for connection in list(self._connections.values()):
            connection.close()

    @property
    def is_full(self) -> bool:
        """Whether there are as many connections as there may be."""
        return len(self._connections) >= self._limits.max_connections

    def open(self, connection: EventConnection, last_event_id: str) -> None:
        """Add a connection with its first frame and what it missed."""
        cursor = self._log.parse_id(last_event_id) if last_event_id else None
        missed = None if cursor is None else self._log.read_after(cursor)
        first = render_connected(connection.id, is_resumed=missed is not None)
        frame = render_frame(encode_json(first))
        connection.push_replay(frame, missed or (), self._limits.max_waiting_bytes)
        self._connections[connection.id] = connection

    def remove(self, connection: EventConnection) -> None:
        """Forget a connection that has ended."""
        connection.close()
        self._connections.pop(connection.id, None)

    def set_visibility(self, subscription_id: str, device_id: str, *, is_visible: bool) -> bool:
        """Note whether a device is looked at; False if it has no such connection."""
        connection = self._connections.get(subscription_id)
        if connection is None or connection.device_id != device_id:
            return False
        connection.is_visible = is_visible
        return True

    def send_heartbeats(self) -> None:
        """Send a heartbeat to each connection that had none for long enough."""
        now, frame = time.monotonic(), render_frame(encode_json(render_heartbeat()))
        for connection in list(self._connections.values()):
            if now - connection.last_heartbeat >= self._limits.heartbeat_interval_seconds:
                connection.last_heartbeat = now
                connection.push_frame(frame)

    def close_devices(self, paired_ids: Collection[str]) -> None:
        """End the connections of devices that are not paired any longer."""
        for connection in list(self._connections.values()):
            if connection.device_id not in paired_ids:
                connection.close()

    def _note_event(self, event: HubEvent) -> None:
        """Take an event from a thread of a machine; the loop is woken once for a burst."""
        self._arrived.append(event)
        if len(self._arrived) == 1 and self._loop is not None:
            self._loop.call_soon_threadsafe(self._push_arrived)

    def _push_arrived(self) -> None:
        while self._arrived:
            event = self._arrived.popleft()
            for connection in list(self._connections.values()):
                connection.push(event)
            if event.sync is not None:
                self._show_notice(event.sync)

    def _show_notice(self, event: SyncEvent) -> None:
        """Show a notice that is due on every device that is looked at."""
        if event.kind is SyncEventKind.SESSION_REMOVED:
            self._notices.forget(event.session_id)
        elif event.session is not None and (notice := self._notices.find(event.session)):
            toast = render_frame(encode_json(render_toast(*notice, event.session_id)))
            for connection in list(self._connections.values()):
                if connection.is_visible:
                    connection.push_frame(toast)


MAX_NOTICE_CHARS = 150


class NoticeFinder:
    """Compares each state of a session with the one before; used by one thread at a time."""

    def __init__(self) -> None:
        self._pending: dict[str, frozenset[str]] = {}
        self._thinking: set[str] = set()

    def find(self, record: AgentSessionRecord) -> tuple[str, str] | None:
        """Return the title and text of a notice that is due; None if there is none."""
        waiting = {each.id: each for each in record.pending_permissions}
        known = self._pending.get(record.id, frozenset())
        was_thinking = record.id in self._thinking
        self._pending[record.id] = frozenset(waiting)
        (self._thinking.add if record.is_thinking else self._thinking.discard)(record.id)
        name = record.name or record.folder
        new = [permission for key, permission in waiting.items() if key not in known]
        if new:
            arguments = ", ".join(f"{key}: {value}" for key, value in new[0].arguments.items())
            return f"{name} waits for you", f"{new[0].tool} {arguments}"[:MAX_NOTICE_CHARS]
        if was_thinking and not record.is_thinking:
            return f"{name} is done", record.folder
        return None

    def forget(self, session_id: str) -> None:
        """Forget a session that was deleted."""
        self._pending.pop(session_id, None)
        self._thinking.discard(session_id)
