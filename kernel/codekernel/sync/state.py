"""The state of the engine: the store and the event log, changed together under one lock.

Whatever is on disk is told afterwards, and in the same order.
"""

import threading
from typing import Any

from codekernel.domain.agent_sessions import (
    META_NOTICE,
    Actor,
    AgentSessionRecord,
    SessionMessage,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.chat import ROLE_AGENT, AgentMessage, TextContent
from codekernel.sync.events import EventLog
from codekernel.sync.store import SyncStore, get_time_ms

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
