"""The backend end of document 002: a port for plugins, and calls that wait for their results."""

import logging
import threading
import time
import uuid
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.connection import Connection

from codekernel.adapters.ide import tool_calls
from codekernel.adapters.ide.plugin import WebSocketPort
from codekernel.adapters.ide.tool_calls import IdeToolCall, IdeToolResult, format_missing_field

logger = logging.getLogger(__name__)

ANSWER_TIMEOUT_SECONDS = 30.0

_SESSION_ID_PREFIX_LENGTH = 8


@dataclass(slots=True)
class PluginClient:
    """The session of one plugin; its calls outlive a lost connection."""

    session_id: str
    project_key: str = ""
    answer_timeout_seconds: float = ANSWER_TIMEOUT_SECONDS
    _pending: dict[str, Future[IdeToolResult]] = field(default_factory=dict)
    _last_milliseconds: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _connection: Connection | None = None

    @property
    def has_pending_calls(self) -> bool:
        """Whether a call has no result yet."""
        with self._lock:
            return bool(self._pending)

    def serve(self, connection: Connection) -> None:
        """Handle messages until the connection is closed; a new connection replaces an old one."""
        with self._lock:
            self._connection = connection
        try:
            while True:
                self.handle_message(connection.recv())
        except ConnectionClosed:
            pass
        finally:
            with self._lock:
                if self._connection is connection:
                    self._connection = None

    def call(
        self,
        tool: str,
        params: dict[str, Any],
        *,
        project_path: str = "",
    ) -> IdeToolResult:
        """Have the plugin call a tool; every failure is a result."""
        if error := _describe_error(tool, params):
            return IdeToolResult("", success=False, text=error)
        params = {"projectKey": self.project_key, "webSocketSessionId": self.session_id, **params}
        if not params["projectKey"]:
            return IdeToolResult("", success=False, text=format_missing_field("projectKey"))
        with self._lock:
            call_id = self._make_call_id(tool)
            result: Future[IdeToolResult] = Future()
            self._pending[call_id] = result
        try:
            call = IdeToolCall(call_id, tool, params, self.session_id, project_path)
            if not self._send(tool_calls.encode_call(call)):
                return IdeToolResult(call_id, success=False, text="IDE 插件未连接")
            return result.result(self.answer_timeout_seconds)
        except TimeoutError:
            text = f"工具执行超时: {self.answer_timeout_seconds:g} 秒"
            return IdeToolResult(call_id, success=False, text=text)
        finally:
            with self._lock:
                self._pending.pop(call_id, None)

    def handle_message(self, text: str | bytes) -> bool:
        """Handle a message of the plugin; return whether it answered a pending call."""
        result = tool_calls.parse_result(text)
        if result is None:
            return False
        with self._lock:
            pending = self._pending.pop(result.id, None)
        if pending is None:
            logger.warning("⚠️ 未找到对应的工具调用: toolCallId=%s", result.id)
            return False
        pending.set_result(result)
        return True

    def _send(self, text: str) -> bool:
        connection = self._connection
        if connection is None:
            return False
        try:
            connection.send(text)
        except ConnectionClosed:
            return False
        return True

    def _make_call_id(self, tool: str) -> str:
        """Return ``<tool>-<first 8 of the session>-<ms>``, unique by at least a millisecond."""
        now = time.time_ns() // 1_000_000
        self._last_milliseconds = max(now, self._last_milliseconds + 1)
        return f"{tool}-{self.session_id[:_SESSION_ID_PREFIX_LENGTH]}-{self._last_milliseconds}"


def _describe_error(tool: str, params: dict[str, Any]) -> str | None:
    """Return why a call cannot be sent."""
    if not tool:
        return format_missing_field("toolName")
    if tool not in tool_calls.REQUIRED_FIELDS:
        return f"不支持的工具: {tool} (可用: {', '.join(tool_calls.REQUIRED_FIELDS)})"
    return tool_calls.describe_missing_field(tool, params)


PLUGIN_PATH = "/ws/agent/chat"


class IdeBackend:
    """Calls the tools of the connected plugins."""

    def __init__(
        self,
        port: int = 0,
        token: str = "",
        answer_timeout_seconds: float = ANSWER_TIMEOUT_SECONDS,
    ) -> None:
        """Bind the port, 0 for any; an empty token makes a new one. Raises OSError."""
        self._answer_timeout_seconds = answer_timeout_seconds
        self._sessions: dict[str, PluginClient] = {}
        self._changed = threading.Condition()
        self._connection_counts: dict[str, int] = {}
        self.port = WebSocketPort(self._serve, port, token)

    @property
    def url(self) -> str:
        """The address for plugins, without the token."""
        return f"{self.port.url}{PLUGIN_PATH}"

    def wait_for_session(
        self, session_id: str, timeout_seconds: float = 0.0
    ) -> PluginClient | None:
        """Return the session of a connected plugin; wait for it at most this long."""
        with self._changed:
            self._changed.wait_for(lambda: self._connection_counts.get(session_id), timeout_seconds)
            return self._sessions[session_id] if self._connection_counts.get(session_id) else None

    def _serve(self, connection: Connection) -> None:
        query = parse_qs(urlsplit(connection.request.path).query) if connection.request else {}
        session_id = query.get("sessionId", [""])[0] or str(uuid.uuid4())
        project_key = query.get("projectKey", [""])[0]
        with self._changed:
            client = self._sessions.get(session_id)
            if client is None:
                client = PluginClient(session_id, project_key, self._answer_timeout_seconds)
                self._sessions[session_id] = client
            self._connection_counts[session_id] = self._connection_counts.get(session_id, 0) + 1
            self._changed.notify_all()
        try:
            client.serve(connection)
        finally:
            with self._changed:
                self._connection_counts[session_id] -= 1
                if not self._connection_counts[session_id] and not client.has_pending_calls:
                    del self._connection_counts[session_id], self._sessions[session_id]
                self._changed.notify_all()
