"""A session as one chat follows it: kept up to date by events, and by reading what they missed.

Also sessions as lines and choices, and when a chat may be written to again.
"""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath, PureWindowsPath

from codekernel.adapters.chat.turns import ChatTurn, TurnWindow
from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    AgentSessions,
    SessionPermission,
    SyncEvent,
    SyncEventKind,
)

_PAGE_MESSAGES = 200

# Events after which messages are read again from the first one that is not shown.
_REREAD_EVENTS = frozenset({SyncEventKind.MESSAGES_CONSUMED, SyncEventKind.MESSAGES_INVALIDATED})


@dataclass(frozen=True, slots=True)
class FeedState:
    """What there is to show at one moment; ``revision`` grows with every change."""

    record: AgentSessionRecord
    turns: tuple[ChatTurn, ...]
    revision: int

    @property
    def permissions(self) -> Sequence[SessionPermission]:
        """The permissions of the session, answered ones too."""
        return self.record.permissions


class SessionFeed:
    """Safe to use from any thread; ``apply`` and ``load`` may wait for the kernel."""

    def __init__(self, sessions: AgentSessions, session_id: str, shown_seq: int) -> None:
        self.session_id = session_id
        self._sessions = sessions
        self._lock = threading.Lock()
        self._window = TurnWindow(session_id, shown_seq)
        self._record: AgentSessionRecord | None = None
        self._revision = 0

    @property
    def revision(self) -> int:
        """Grows with every change of what there is to show."""
        return self._revision

    @property
    def is_loaded(self) -> bool:
        """Whether anything was read yet."""
        return self._record is not None

    @property
    def shown_seq(self) -> int:
        """The number of the last message up to which all are shown."""
        with self._lock:
            return self._window.shown_seq

    def load(self) -> None:
        """Read the state and all messages that are not shown. Raises KernelError."""
        record = self._sessions.get_session(self.session_id)
        is_current = False
        while not is_current:
            with self._lock:
                shown_seq = self._window.shown_seq
            window = TurnWindow(self.session_id, shown_seq)
            self._fill(window)
            with self._lock:
                # More may have been shown meanwhile, and must not come back.
                is_current = self._window.shown_seq == shown_seq
                if is_current:
                    self._window = window
                    self._keep_newest(record)
                    self._revision += 1

    def apply(self, event: SyncEvent) -> None:
        """Take in an event of this session. Raises KernelError."""
        if event.kind in _REREAD_EVENTS:
            self.load()
            return
        with self._lock:
            self._apply_known(event)
            self._revision += 1
            record, last_seq = self._record, self._window.last_seq
        missed = record is None or record.last_seq > last_seq
        if event.message is not None and event.kind is SyncEventKind.MESSAGE_RECEIVED:
            missed = missed or event.message.seq > last_seq
        if missed:
            self.load()

    def read_state(self) -> FeedState | None:
        """Return what there is to show; None before anything was read."""
        with self._lock:
            if self._record is None:
                return None
            turns = tuple(self._window.list_turns(self._record))
            return FeedState(self._record, turns, self._revision)

    def forget_shown(self, finished: Sequence[int]) -> int:
        """Forget turns that were shown to their end; return the last number that is shown."""
        with self._lock:
            self._revision += 1
            return self._window.forget_shown(finished)

    def _apply_known(self, event: SyncEvent) -> None:
        if event.session is not None:
            self._keep_newest(event.session)
        if event.kind is SyncEventKind.MESSAGE_CANCELLED:
            self._window.remove(event.local_ids)
        if event.message is None:
            return
        if event.kind is SyncEventKind.MESSAGE_GROWING:
            self._window.put_growing(event.message.message)
        elif event.message.seq <= self._window.last_seq + 1:
            self._window.put([event.message])

    def _keep_newest(self, record: AgentSessionRecord) -> None:
        if self._record is None or record.version > self._record.version:
            self._record = record

    def _fill(self, window: TurnWindow) -> None:
        while True:
            page = self._sessions.read_messages(
                self.session_id, after_seq=window.last_seq, limit=_PAGE_MESSAGES
            )
            window.put(page.messages)
            if not page.has_more or not page.messages:
                return


_MINUTE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RateLimit:
    """What a platform allows in one chat; ``max_per_minute`` 0 means no such limit."""

    interval_seconds: float
    max_per_minute: int = 0


@dataclass(slots=True)
class ChatPace:
    """The rate of one chat; ``due_at`` is a time of the caller's clock, in seconds."""

    limit: RateLimit
    due_at: float = 0.0
    _recent: deque[float] = field(default_factory=deque)

    def record(self, now: float) -> None:
        """Note that something was sent."""
        self.due_at = max(self.due_at, now + self.limit.interval_seconds)
        if self.limit.max_per_minute:
            self._recent.append(now)
            if len(self._recent) >= self.limit.max_per_minute:
                oldest = self._recent.popleft()
                self.due_at = max(self.due_at, oldest + _MINUTE_SECONDS)

    def postpone(self, now: float, seconds: float) -> None:
        """Wait as long as the platform has asked for."""
        self.due_at = max(self.due_at, now + seconds)


# Eight are unique among thousands of sessions; if not, more have to be typed.
_SHORT_ID_CHARS = 8


def get_folder_name(folder: str) -> str:
    """Return the last part of a path of any system."""
    path = PureWindowsPath(folder) if "\\" in folder else PurePath(folder)
    return path.name or folder


def describe_session(session: AgentSessionRecord) -> str:
    """Return the name of a session and the beginning of its id."""
    name = session.name or get_folder_name(session.folder)
    return f"**{name}** (`{session.id[:_SHORT_ID_CHARS]}`)"


def format_session(session: AgentSessionRecord, *, is_followed: bool) -> str:
    """Return a line of the list of sessions."""
    state = "works" if session.is_thinking else "waits for you"
    if session.pending_permissions:
        state = "asks for a permission"
    if not session.is_active:
        state = "is away"
    marker = "→" if is_followed else "-"
    folder = get_folder_name(session.folder)
    return f"{marker} {describe_session(session)} in {folder}, {session.agent}: {state}"


def label_session(session: AgentSessionRecord) -> str:
    """Return the label of a choice."""
    name = session.name or get_folder_name(session.folder)
    return f"{name} · {session.id[:_SHORT_ID_CHARS]}"
