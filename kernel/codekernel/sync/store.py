"""What is kept of agent sessions: their state, their messages, and the log of permissions.

States are also in memory, because they are read far more often than written. One thread at a time:
the engine's lock is held by every caller.
"""

import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    MessagePage,
    PermissionStatus,
    SessionMessage,
    SessionPermission,
)
from codekernel.domain.chat import AgentMessage, parse_message
from codekernel.errors import SessionNotFound
from codekernel.protocol.envelope import convert_values, dump_json, load_json
from codekernel.storage.engines import decode_column, encode_column
from codekernel.sync.database import SyncDatabase

# As the published contract has it.
MAX_PAGE_MESSAGES = 200

_INSERT = "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

_SELECT = "SELECT * FROM message WHERE session_id = ? AND"

_PERMISSIONS = "SELECT content FROM permission WHERE session_id = ?"

_Row = tuple[Any, ...]


def get_time_ms() -> int:
    """Return the time as messages have it."""
    return time.time_ns() // 1_000_000


def make_id() -> str:
    """Return a new id of a session or a message."""
    return str(uuid.uuid4())


class SyncStore:
    """The sessions of one machine."""

    def __init__(self, database: SyncDatabase, clock: Callable[[], int] = get_time_ms) -> None:
        """Load the states. Raises StorageError."""
        self._clock = clock
        self._database = database
        self._records: dict[str, AgentSessionRecord] = {}
        self._backend_sessions: dict[str, str] = {}
        self._load()

    def _load(self) -> None:
        rows = self._database.read(
            lambda it: it.execute("SELECT id, backend_session, state FROM session").fetchall()
        )
        for session_id, backend_session, state in rows:
            record = convert_values(load_json(state.encode()), AgentSessionRecord)
            pending = self._read_permissions(session_id, PermissionStatus.PENDING)
            self._records[session_id] = replace(record, permissions=tuple(pending))
            self._backend_sessions[session_id] = decode_column(backend_session)

    def forget_all(self) -> None:
        """Forget the states in memory: the database was lost, and a new one is empty."""
        self._records.clear()
        self._backend_sessions.clear()

    def list_sessions(self) -> list[AgentSessionRecord]:
        """Return all sessions, the last used first."""
        return sorted(self._records.values(), key=lambda it: it.updated_at, reverse=True)

    def get_session(self, session_id: str) -> AgentSessionRecord:
        """Return one session. Raises SessionNotFound."""
        record = self._records.get(session_id)
        if record is None:
            raise SessionNotFound(f"There is no agent session {session_id[:80]!r}.")
        return record

    def find_tagged(self, tag: str) -> AgentSessionRecord | None:
        """Return the session with a tag."""
        if not tag:
            return None
        query = "SELECT id FROM session WHERE tag = ?"
        row = self._database.read(lambda it: it.execute(query, (encode_column(tag),)).fetchone())
        return self._records.get(row[0]) if row else None

    def find_conversation(self, agent: str, conversation_id: int) -> AgentSessionRecord | None:
        """Return the session of an agent in a conversation."""
        found = (
            each
            for each in self._records.values()
            if each.conversation_id == conversation_id and each.agent == agent
        )
        return next(found, None)

    def add_session(self, record: AgentSessionRecord, tag: str, backend_session: str) -> None:
        """Add a session; its id and tag are new."""
        row = (record.id, encode_column(tag) if tag else None, encode_column(backend_session))
        self._database.write(
            lambda it: it.execute(
                "INSERT INTO session VALUES (?, ?, ?, ?)", (*row, _encode_state(record))
            )
        )
        self._records[record.id] = record
        self._backend_sessions[record.id] = backend_session

    def get_backend_session(self, session_id: str) -> str:
        """Return the agent's own id of a session."""
        return self._backend_sessions[session_id]

    def set_backend_session(self, session_id: str, backend_session: str) -> None:
        """Replace the agent's own id of a session."""
        self._database.write(
            lambda it: it.execute(
                "UPDATE session SET backend_session = ? WHERE id = ?",
                (encode_column(backend_session), session_id),
            )
        )
        self._backend_sessions[session_id] = backend_session

    def update_session(self, session_id: str, **changes: Any) -> AgentSessionRecord:
        """Change a state and count its version; return it. Raises SessionNotFound."""
        record = self._advance(self.get_session(session_id), **changes)
        self._database.write(lambda it: _write_state(it, record))
        self._records[session_id] = record
        return record

    def delete_session(self, session_id: str) -> None:
        """Delete a session with everything of it. Raises SessionNotFound."""
        self.get_session(session_id)
        self._database.write(
            lambda it: it.execute("DELETE FROM session WHERE id = ?", (session_id,))
        )
        del self._records[session_id], self._backend_sessions[session_id]

    def append_message(
        self, session_id: str, message: AgentMessage, actor: Actor, **fields: Any
    ) -> SessionMessage:
        """Append a message with the next number; ``fields`` are further ones of it.

        One that waits for the agent has ``invoked_at`` None.
        """
        record = self.get_session(session_id)
        now = max(self._clock(), record.updated_at)
        known = {"id": make_id(), "created_at": now, "invoked_at": now, **fields}
        appended = SessionMessage(
            session_id=session_id, seq=record.last_seq + 1, message=message, actor=actor, **known
        )
        waits = appended.invoked_at is None
        changed = self._advance(
            record, last_seq=appended.seq, queued_count=record.queued_count + waits
        )

        def insert(database: sqlite3.Connection) -> None:
            database.execute(_INSERT, _encode(appended))
            _write_state(database, changed)

        self._database.write(insert)
        self._records[session_id] = changed
        return appended

    def find_local(self, session_id: str, local_id: str) -> SessionMessage | None:
        """Return the message that a device has sent under this id of its own."""
        if not local_id:
            return None
        return self._find_message("local_id = ?", (session_id, encode_column(local_id)))

    def find_message(self, session_id: str, message_id: str) -> SessionMessage | None:
        """Return a message by its id."""
        return self._find_message("id = ?", (session_id, message_id))

    def find_next_queued(self, session_id: str) -> SessionMessage | None:
        """Return the oldest message that waits for the agent."""
        # By the index of those that wait: SQLite would rather read all others first.
        query = (
            "SELECT * FROM message INDEXED BY waiting"
            " WHERE session_id = ? AND invoked_at IS NULL ORDER BY seq LIMIT 1"
        )
        row = self._database.read(lambda it: it.execute(query, (session_id,)).fetchone())
        return _decode(row) if row else None

    def take_message(self, waiting: SessionMessage) -> SessionMessage:
        """Record that the agent begins with a message: its session thinks from now on."""
        session_id = waiting.session_id
        record = self.get_session(session_id)
        # Devices order messages by this time: it is later than all that was said while it waited.
        now = max(self._clock(), record.updated_at + 1)
        taken = replace(waiting, invoked_at=now)
        changed = self._advance(
            record,
            updated_at=now,
            queued_count=record.queued_count - (waiting.invoked_at is None),
            is_thinking=True,
            permissions=(),
        )

        def update(database: sqlite3.Connection) -> None:
            statement = "UPDATE message SET invoked_at = ? WHERE session_id = ? AND id = ?"
            database.execute(statement, (taken.invoked_at, session_id, taken.id))
            _write_state(database, changed)

        self._database.write(update)
        self._records[session_id] = changed
        return taken

    def remove_message(self, waiting: SessionMessage) -> AgentSessionRecord:
        """Remove a message that waits; those after it move up, and the epoch grows."""
        session_id, seq = waiting.session_id, waiting.seq
        record = self.get_session(session_id)
        changed = self._advance(
            record,
            last_seq=record.last_seq - 1,
            queued_count=record.queued_count - 1,
            epoch=record.epoch + 1,
        )

        def remove(database: sqlite3.Connection) -> None:
            key = (session_id, seq)
            database.execute("DELETE FROM message WHERE session_id = ? AND seq = ?", key)
            # In two steps, for no two rows may have one number in between.
            move = "UPDATE message SET seq = 1 - seq WHERE session_id = ? AND seq > ?"
            database.execute(move, key)
            turn = "UPDATE message SET seq = -seq WHERE session_id = ? AND seq < 0"
            database.execute(turn, (session_id,))
            _write_state(database, changed)

        self._database.write(remove)
        self._records[session_id] = changed
        return changed

    def read_page(
        self,
        session_id: str,
        before_seq: int | None,
        after_seq: int | None,
        limit: int,
        epoch: int | None,
    ) -> MessagePage:
        """Return the newest messages, those before a number, or those after one."""
        record = self.get_session(session_id)
        is_reset = epoch is not None and epoch != record.epoch
        if is_reset:
            before_seq = after_seq = None
        limit = max(1, min(limit, MAX_PAGE_MESSAGES))
        if after_seq is not None:
            query, bound = f"{_SELECT} seq > ? ORDER BY seq LIMIT ?", after_seq
        else:
            query = f"{_SELECT} seq < ? ORDER BY seq DESC LIMIT ?"
            bound = record.last_seq + 1 if before_seq is None else before_seq
        values = (session_id, bound, limit + 1)
        rows = self._database.read(lambda it: it.execute(query, values).fetchall())
        messages = sorted(map(_decode, rows[:limit]), key=lambda it: it.seq)
        return MessagePage(tuple(messages), record.epoch, len(rows) > limit, is_reset)

    def put_permission(self, session_id: str, permission: SessionPermission) -> AgentSessionRecord:
        """Add a permission to the log, or replace its entry; return the state with it."""
        record = self.get_session(session_id)
        others = (each for each in record.permissions if each.id != permission.id)
        listed = sorted((*others, permission), key=lambda it: it.created_at)
        changed = self._advance(record, permissions=tuple(listed))
        content = dump_json(permission).decode()
        row = (session_id, permission.id, permission.created_at, permission.status.value, content)

        def insert(database: sqlite3.Connection) -> None:
            database.execute("INSERT OR REPLACE INTO permission VALUES (?, ?, ?, ?, ?)", row)
            _write_state(database, changed)

        self._database.write(insert)
        self._records[session_id] = changed
        return changed

    def list_permissions(self, session_id: str) -> list[SessionPermission]:
        """Return the log of permissions, oldest first. Raises SessionNotFound."""
        self.get_session(session_id)
        return list(self._read_permissions(session_id, None))

    def _read_permissions(
        self, session_id: str, status: PermissionStatus | None
    ) -> Iterable[SessionPermission]:
        query = f"{_PERMISSIONS} AND status = coalesce(?, status) ORDER BY created_at"
        values = (session_id, status.value if status else None)
        rows = self._database.read(lambda it: it.execute(query, values).fetchall())
        return (convert_values(load_json(row[0].encode()), SessionPermission) for row in rows)

    def _find_message(self, where: str, values: _Row) -> SessionMessage | None:
        row = self._database.read(lambda it: it.execute(f"{_SELECT} {where}", values).fetchone())
        return _decode(row) if row else None

    def _advance(self, record: AgentSessionRecord, **changes: Any) -> AgentSessionRecord:
        times = {"updated_at": max(self._clock(), record.updated_at)}
        return replace(record, version=record.version + 1, **times | changes)


def _write_state(database: sqlite3.Connection, record: AgentSessionRecord) -> None:
    statement = "UPDATE session SET state = ? WHERE id = ?"
    database.execute(statement, (_encode_state(record), record.id))


def _encode_state(record: AgentSessionRecord) -> str:
    return dump_json(replace(record, permissions=())).decode()


def _encode(message: SessionMessage) -> _Row:
    return (
        message.session_id,
        message.seq,
        message.id,
        encode_column(message.local_id) if message.local_id else None,
        message.created_at,
        message.invoked_at,
        message.actor.device,
        encode_column(message.actor.name),
        dump_json(message.message.to_json()).decode(),
    )


def _decode(row: _Row) -> SessionMessage:
    session_id, seq, message_id, local_id, created_at, invoked_at, device, name, content = row
    return SessionMessage(
        id=message_id,
        session_id=session_id,
        seq=seq,
        created_at=created_at,
        message=parse_message(load_json(content.encode())),
        actor=Actor(device, decode_column(name)),
        local_id=decode_column(local_id) if local_id else "",
        invoked_at=invoked_at,
    )
