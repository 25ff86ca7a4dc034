"""The tool calls of document 002: parse and encode them, and execute them.

TOOL_CALL has its fields at the root, TOOL_RESULT in `data`. Calls run concurrently, each with a
timeout and one answer.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome, make_failure
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.untrusted_text import escape_controls_in_json, parse_json
from codekernel.errors import Cancelled

TOOL_CALL, TOOL_RESULT = "TOOL_CALL", "TOOL_RESULT"

INVALID_JSON_TEXT = "消息格式错误: 不是有效的 JSON 对象"

# The required fields of each tool by the document's names, and whether they may be empty.
REQUIRED_FIELDS: dict[str, dict[str, bool]] = {
    "grep_file": {"pattern": False},
    "read_file": {"relativePath": False},
    "call_chain": {"method": False},
    "apply_change": {"relativePath": False, "replaceContent": True},
}

# Other accepted names of required fields.
_FIELD_ALIASES = {"relativePath": ("relative_path", "path", "filePath", "file_path")}


@dataclass(frozen=True, slots=True)
class IdeToolCall:
    """A tool call of a backend; ``id`` is returned with the result."""

    id: str
    tool: str
    params: dict[str, Any]
    session_id: str = ""
    project_path: str = ""

    @property
    def project_key(self) -> str:
        """The name of the project, if the call has one."""
        key = self.params.get("projectKey", self.params.get("project_key"))
        return key if isinstance(key, str) else ""


@dataclass(frozen=True, slots=True)
class IdeToolResult:
    """The result of a call; ``text`` is the output or the error."""

    id: str
    success: bool
    text: str
    duration_ms: int = 0


def parse_call(text: str | bytes) -> IdeToolCall | IdeToolResult | None:
    """Parse a call; return the result to send if it is malformed, None for other messages."""
    message = _parse_object(text)
    if message is None:
        return IdeToolResult("", success=False, text=INVALID_JSON_TEXT)
    kind = message.get("type")
    if kind != TOOL_CALL:
        return None if kind else _make_missing_result("", "type")
    call_id = _get_text(message, "toolCallId", "tool_call_id")
    if not call_id:
        return _make_missing_result("", "toolCallId")
    tool = _get_text(message, "toolName", "tool_name")
    if not tool:
        return _make_missing_result(call_id, "toolName")
    params = message.get("params")
    if not isinstance(params, dict):
        return _make_missing_result(call_id, "params")
    return IdeToolCall(
        call_id,
        tool,
        params,
        _get_text(message, "webSocketSessionId", "web_socket_session_id"),
        _get_text(message, "projectPath", "project_path"),
    )


def parse_result(text: str | bytes) -> IdeToolResult | None:
    """Parse a result, whose fields are in ``data``; None for other messages."""
    message = _parse_object(text) or {}
    if message.get("type") != TOOL_RESULT:
        return None
    data = message.get("data")
    data = data if isinstance(data, dict) else {}
    success = data.get("success") is True
    output = data.get("result") if success else data.get("error") or data.get("result")
    text = output if isinstance(output, str) else "" if output is None else json.dumps(output)
    time_ms = data.get("executionTime")
    is_number = isinstance(time_ms, int | float) and not isinstance(time_ms, bool)
    return IdeToolResult(
        _get_text(data, "toolCallId"), success, text, int(time_ms) if is_number and time_ms else 0
    )


def encode_call(call: IdeToolCall) -> str:
    """Encode a call."""
    message = {
        "type": TOOL_CALL,
        "toolCallId": call.id,
        "toolName": call.tool,
        "params": call.params,
        "webSocketSessionId": call.session_id,
    }
    return _encode(message | ({"projectPath": call.project_path} if call.project_path else {}))


def encode_result(result: IdeToolResult) -> str:
    """Encode a result; a failure is both ``result`` and ``error``, as plugins send it."""
    data: dict[str, Any] = {
        "toolCallId": result.id,
        "success": result.success,
        "result": result.text,
    }
    if not result.success:
        data["error"] = result.text
    return _encode({"type": TOOL_RESULT, "data": data | {"executionTime": result.duration_ms}})


def describe_missing_field(tool: str, params: dict[str, Any]) -> str | None:
    """Return the error text of the first required field that is missing or empty."""
    for name, may_be_empty in REQUIRED_FIELDS.get(tool, {}).items():
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        names = (name, snake, *_FIELD_ALIASES.get(name, ()))
        value = next((params[one] for one in names if params.get(one) is not None), None)
        if value is None or (value == "" and not may_be_empty):
            return format_missing_field(name)
    return None


def format_missing_field(name: str) -> str:
    """Return the error text of a field that is missing or empty."""
    return f"{name} 字段缺失或为空"


def _make_missing_result(call_id: str, name: str) -> IdeToolResult:
    return IdeToolResult(call_id, success=False, text=format_missing_field(name))


def _get_text(message: dict[str, Any], *names: str) -> str:
    found = next((message[name] for name in names if isinstance(message.get(name), str)), "")
    return str(found)


def _parse_object(text: str | bytes) -> dict[str, Any] | None:
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _encode(message: dict[str, Any]) -> str:
    # Escapes C1 controls and lone surrogates of file names, which UTF-8 cannot encode.
    return escape_controls_in_json(json.dumps(message, ensure_ascii=False))


# The backend gives up after 30 s; an answer must arrive before that.
CALL_TIMEOUT_SECONDS = 25.0

MAX_CONCURRENT_CALLS = 8

# A backend that sends more has lost count.
MAX_QUEUED_CALLS = 256

SendReply = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class IdeToolExecutor:
    """Executes the tools of one project; ``project_key`` is its name, if it is known."""

    _tools: ToolRegistry
    _context: ToolContext
    project_key: str = ""
    # For a call, including its wait in the queue.
    timeout_seconds: float = CALL_TIMEOUT_SECONDS
    running_slots: threading.Semaphore = field(
        default_factory=partial(threading.Semaphore, MAX_CONCURRENT_CALLS)
    )
    queue_slots: threading.Semaphore = field(
        default_factory=partial(threading.Semaphore, MAX_QUEUED_CALLS)
    )
    # Two concurrent changes of one file would lose one of them.
    _write_lock: threading.Lock = field(default_factory=threading.Lock)

    def submit(self, message: str | bytes, reply: SendReply) -> None:
        """Execute a message without waiting; ``reply`` gets the one answer, on any thread."""
        call = parse_call(message)
        if call is None:
            return
        if isinstance(call, IdeToolResult):
            reply(encode_result(call))
        elif not self.queue_slots.acquire(blocking=False):
            busy = f"工具调用过多, 请稍后重试 (上限 {MAX_QUEUED_CALLS})"
            reply(encode_result(IdeToolResult(call.id, success=False, text=busy)))
        else:
            _RunningCall(self, call, reply).start()

    def execute(self, call: IdeToolCall, cancel: CancelToken) -> ToolOutcome:
        """Execute a call; every failure is an outcome."""
        try:
            self._validate(call)
            context = replace(
                self._context, root=self._resolve_root(call.project_path), cancel=cancel
            )
            if self._tools[call.tool].permission is ToolPermission.READS:
                return self._tools.call(call.tool, call.params, context)
            with self._write_lock:
                return self._tools.call(call.tool, call.params, context)
        except ToolError as error:
            return make_failure(str(error))
        except Cancelled:
            return make_failure("工具调用已取消")

    def _validate(self, call: IdeToolCall) -> None:
        if call.tool not in self._tools:
            known = ", ".join(self._tools.names)
            raise ToolError(f"不支持的工具: {call.tool} (可用: {known})")
        if missing := describe_missing_field(call.tool, call.params):
            raise ToolError(missing)
        own_key = self.project_key
        if own_key and call.project_key not in {"", own_key}:
            raise ToolError(f"projectKey 不匹配: {call.project_key} (当前项目: {own_key})")

    def _resolve_root(self, project_path: str) -> WorkspaceRoot:
        """Return the project's root, or that of a folder in it."""
        root = self._context.root
        if not project_path:
            return root
        try:
            with root.reach(project_path) as place:
                is_folder = place.is_folder
            if is_folder:
                return root.get_subroot(project_path)
        except ToolError:
            raise ToolError(f"projectPath 不在当前项目内: {project_path}") from None
        raise ToolError(f"projectPath 不存在: {project_path}")


class _RunningCall:
    """One running call, answered by the tool or by the timeout, whichever is first.

    A tool that hangs is abandoned: its slot is released with the answer.
    """

    def __init__(self, executor: IdeToolExecutor, call: IdeToolCall, reply: SendReply) -> None:
        self._executor = executor
        self._call = call
        self._reply = reply
        self._cancel = CancelToken()
        self._started_at = time.monotonic()
        self._lock = threading.Lock()
        self._has_slot = self._is_over = False
        self._timer = threading.Timer(executor.timeout_seconds, self._on_timeout)
        self._timer.daemon = True

    def start(self) -> None:
        self._timer.start()
        name = f"ide:{self._call.tool}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        if not self._executor.running_slots.acquire(timeout=self._executor.timeout_seconds):
            return  # the timeout answers
        with self._lock:
            self._has_slot = not self._is_over
        if self._has_slot:
            self._send_answer(self._executor.execute(self._call, self._cancel))
        else:
            self._executor.running_slots.release()

    def _on_timeout(self) -> None:
        self._cancel.cancel()
        self._send_answer(make_failure(f"工具执行超时: {self._executor.timeout_seconds:g} 秒"))

    def _send_answer(self, outcome: ToolOutcome) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        self._timer.cancel()
        if self._has_slot:
            self._executor.running_slots.release()
        self._executor.queue_slots.release()
        time_ms = round((time.monotonic() - self._started_at) * 1000)
        result = IdeToolResult(self._call.id, outcome.success, outcome.text, time_ms)
        self._reply(encode_result(result))
