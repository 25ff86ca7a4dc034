"""The backend end of document 002.

The port that plugins connect to, and calls that wait for their results by toolCallId.
"""

import logging
import threading
import time
import uuid
from concurrent.futures import Future
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.connection import Connection

from codekernel.adapters.ide.messages import (
    REQUIRED_FIELDS,
    IdeToolCall,
    IdeToolResult,
    UnknownMessage,
    describe_missing_field,
    encode_call,
    format_missing_field,
    parse_result,
)
from codekernel.adapters.ide.plugin import MessageConnection
from codekernel.adapters.ide.port import PortOptions, WebSocketPort

logger = logging.getLogger(__name__)

ANSWER_TIMEOUT_SECONDS = 30.0

_SESSION_ID_PREFIX_LENGTH = 8


class PluginClient:
    """One plugin's session; its connection may be lost and come back, calls stay."""

    def __init__(
        self,
        session_id: str,
        project_key: str = "",
        answer_timeout_seconds: float = ANSWER_TIMEOUT_SECONDS,
    ) -> None:
        self.session_id = session_id
        self.project_key = project_key
        self._timeout_seconds = answer_timeout_seconds
        self._pending: dict[str, Future[IdeToolResult]] = {}
        self._last_milliseconds = 0
        self._lock = threading.Lock()
        self._connection: MessageConnection | None = None

    @property
    def has_pending_calls(self) -> bool:
        """Whether a call has no result yet."""
        with self._lock:
            return bool(self._pending)

    def serve(self, connection: MessageConnection) -> None:
        """Hear a plugin until its connection is closed; a newer connection replaces an older."""
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
        """Have the plugin use a tool; whatever goes wrong is a result that says so."""
        refusal = _describe_refusal(tool, params)
        if refusal:
            return IdeToolResult("", success=False, text=refusal)
        whole = {"projectKey": self.project_key, "webSocketSessionId": self.session_id, **params}
        if not whole["projectKey"]:
            return IdeToolResult("", success=False, text=format_missing_field("projectKey"))
        with self._lock:
            call_id = self._make_call_id(tool)
            answered: Future[IdeToolResult] = Future()
            self._pending[call_id] = answered
        try:
            call = IdeToolCall(call_id, tool, whole, self.session_id, project_path)
            if not self._send(encode_call(call)):
                return IdeToolResult(call_id, success=False, text="IDE 插件未连接")
            return answered.result(self._timeout_seconds)
        except TimeoutError:
            text = f"工具执行超时: {self._timeout_seconds:g} 秒"
            return IdeToolResult(call_id, success=False, text=text)
        finally:
            with self._lock:
                self._pending.pop(call_id, None)

    def handle_message(self, text: str | bytes) -> bool:
        """Take a message of the plugin; whether it answered a call that waits."""
        result = parse_result(text)
        if isinstance(result, UnknownMessage):
            logger.debug("a message of type %s is no result", result.type)
            return False
        return self.handle_tool_result(result)

    def handle_tool_result(self, result: IdeToolResult) -> bool:
        """Give a result to who waits for it; false if nobody does."""
        with self._lock:
            waiting = self._pending.pop(result.id, None)
        if waiting is None:
            logger.warning("⚠️ 未找到对应的工具调用: toolCallId=%s", result.id)
            return False
        waiting.set_result(result)
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
        """``<tool>-<first 8 of the session>-<ms>``; two of one moment are a millisecond apart."""
        now = time.time_ns() // 1_000_000
        self._last_milliseconds = max(now, self._last_milliseconds + 1)
        return f"{tool}-{self.session_id[:_SESSION_ID_PREFIX_LENGTH]}-{self._last_milliseconds}"


def _describe_refusal(tool: str, params: dict[str, Any]) -> str | None:
    """Why a call is not even sent."""
    if not tool:
        return format_missing_field("toolName")
    if tool not in REQUIRED_FIELDS:
        return f"不支持的工具: {tool} (可用: {', '.join(REQUIRED_FIELDS)})"
    return describe_missing_field(tool, params)


PLUGIN_PATH = "/ws/agent/chat"


class IdeBackend:
    """Calls the tools of whatever plugins are connected."""

    def __init__(
        self, options: PortOptions, answer_timeout_seconds: float = ANSWER_TIMEOUT_SECONDS
    ) -> None:
        """Take the port; raises OSError."""
        self._answer_timeout_seconds = answer_timeout_seconds
        self._sessions: dict[str, PluginClient] = {}
        self._changed = threading.Condition()
        self._connection_counts: dict[str, int] = {}
        self.port = WebSocketPort(options, self._serve)

    @property
    def url(self) -> str:
        """What a plugin dials, without the token."""
        return f"{self.port.url}{PLUGIN_PATH}"

    def wait_for_session(
        self, session_id: str, timeout_seconds: float = 0.0
    ) -> PluginClient | None:
        """The session of a plugin that is connected, waited for if need be."""
        with self._changed:
            self._changed.wait_for(lambda: self._connection_counts.get(session_id), timeout_seconds)
            return self._sessions[session_id] if self._connection_counts.get(session_id) else None

    def _serve(self, connection: Connection) -> None:
        query = parse_qs(urlsplit(connection.request.path).query) if connection.request else {}
        session_id = query.get("sessionId", [""])[0] or str(uuid.uuid4())
        project_key = query.get("projectKey", [""])[0]
        with self._changed:
            calling = self._sessions.get(session_id)
            if calling is None:
                calling = PluginClient(session_id, project_key, self._answer_timeout_seconds)
                self._sessions[session_id] = calling
            self._connection_counts[session_id] = self._connection_counts.get(session_id, 0) + 1
            self._changed.notify_all()
        try:
            calling.serve(connection)
        finally:
            with self._changed:
                self._connection_counts[session_id] -= 1
                if not self._connection_counts[session_id] and not calling.has_pending_calls:
                    del self._connection_counts[session_id], self._sessions[session_id]
                self._changed.notify_all()
