"""The backend end: calls that wait for their results, told apart by toolCallId."""

import logging
import threading
import time
from concurrent.futures import Future
from typing import Any

from websockets.exceptions import ConnectionClosed

from kernel.doors.ide.answering import Connection
from kernel.doors.ide.messages import (
    REQUIRED,
    Strange,
    ToolCall,
    ToolResult,
    call_text,
    missing,
    missing_field,
    read_result,
)

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 30.0
_SHOWN_OF_SESSION = 8


class Calling:
    """One plugin's session; its connection may be lost and come back, calls stay."""

    def __init__(
        self, session_id: str, project_key: str = "", answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        self.session_id = session_id
        self.project_key = project_key
        self._seconds = answer_seconds
        self._pending: dict[str, Future[ToolResult]] = {}
        self._last_milliseconds = 0
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a call has no result yet."""
        with self._lock:
            return bool(self._pending)

    def serve(self, connection: Connection) -> None:
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
    ) -> ToolResult:
        """Have the plugin use a tool; whatever goes wrong is a result that says so."""
        refusal = _refusal(tool, params)
        if refusal:
            return ToolResult("", success=False, text=refusal)
        whole = {"projectKey": self.project_key, "webSocketSessionId": self.session_id, **params}
        if not whole["projectKey"]:
            return ToolResult("", success=False, text=missing("projectKey"))
        with self._lock:
            call_id = self._new_id(tool)
            answered: Future[ToolResult] = Future()
            self._pending[call_id] = answered
        try:
            call = ToolCall(call_id, tool, whole, self.session_id, project_path)
            if not self._send(call_text(call)):
                return ToolResult(call_id, success=False, text="IDE 插件未连接")
            return answered.result(self._seconds)
        except TimeoutError:
            text = f"工具执行超时: {self._seconds:g} 秒"
            return ToolResult(call_id, success=False, text=text)
        finally:
            with self._lock:
                self._pending.pop(call_id, None)

    def handle_message(self, text: str | bytes) -> bool:
        """Take a message of the plugin; whether it answered a call that waits."""
        result = read_result(text)
        if isinstance(result, Strange):
            logger.debug("a message of type %s is no result", result.type)
            return False
        return self.handle_tool_result(result)

    def handle_tool_result(self, result: ToolResult) -> bool:
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

    def _new_id(self, tool: str) -> str:
        """``<tool>-<first 8 of the session>-<ms>``; two of one moment are a millisecond apart."""
        now = time.time_ns() // 1_000_000
        self._last_milliseconds = max(now, self._last_milliseconds + 1)
        return f"{tool}-{self.session_id[:_SHOWN_OF_SESSION]}-{self._last_milliseconds}"


def _refusal(tool: str, params: dict[str, Any]) -> str | None:
    """Why a call is not even sent."""
    if not tool:
        return missing("toolName")
    if tool not in REQUIRED:
        return f"不支持的工具: {tool} (可用: {', '.join(REQUIRED)})"
    return missing_field(tool, params)
