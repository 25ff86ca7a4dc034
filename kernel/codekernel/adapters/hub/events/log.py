"""The last events of all machines, in one order and with the hub's own numbers, for replay."""

import hashlib
import secrets
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from codekernel.adapters.hub.access.devices import NAMESPACE
from codekernel.adapters.hub.contract.frames import encode_json, render_frame
from codekernel.domain.agent_sessions import SyncEvent
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
