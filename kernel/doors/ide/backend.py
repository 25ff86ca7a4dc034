"""The port that plugins dial: ``/ws/agent/chat?sessionId=...&projectKey=...``, one session each."""

import threading
import uuid
from urllib.parse import parse_qs, urlsplit

from websockets.sync.connection import Connection

from kernel.doors.ide.calling import ANSWER_SECONDS, Calling
from kernel.doors.ide.port import Port, Wanted

PATH = "/ws/agent/chat"


class Backend:
    """Calls the tools of whatever plugins are connected."""

    def __init__(self, wanted: Wanted, answer_seconds: float = ANSWER_SECONDS) -> None:
        """Take the port; raises OSError."""
        self._answer_seconds = answer_seconds
        self._sessions: dict[str, Calling] = {}
        self._changed = threading.Condition()
        self._connected: dict[str, int] = {}
        self.port = Port(wanted, self._serve)

    @property
    def address(self) -> str:
        """What a plugin dials, without the token."""
        return f"{self.port.address}{PATH}"

    def session(self, session_id: str, timeout_seconds: float = 0.0) -> Calling | None:
        """The session of a plugin that is connected, waited for if need be."""
        with self._changed:
            self._changed.wait_for(lambda: self._connected.get(session_id), timeout_seconds)
            return self._sessions[session_id] if self._connected.get(session_id) else None

    def _serve(self, connection: Connection) -> None:
        query = parse_qs(urlsplit(connection.request.path).query) if connection.request else {}
        session_id = query.get("sessionId", [""])[0] or str(uuid.uuid4())
        project_key = query.get("projectKey", [""])[0]
        with self._changed:
            calling = self._sessions.get(session_id)
            if calling is None:
                calling = Calling(session_id, project_key, self._answer_seconds)
                self._sessions[session_id] = calling
            self._connected[session_id] = self._connected.get(session_id, 0) + 1
            self._changed.notify_all()
        try:
            calling.serve(connection)
        finally:
            with self._changed:
                self._connected[session_id] -= 1
                if not self._connected[session_id] and not calling.is_waiting:
                    del self._connected[session_id], self._sessions[session_id]
                self._changed.notify_all()
