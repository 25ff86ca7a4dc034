"""Parse and encode the messages of document 002.

TOOL_CALL has its fields at the root, TOOL_RESULT in `data`.
"""

import json
from dataclasses import dataclass
from typing import Any

from codekernel.domain.untrusted_text import escape_controls_in_json, parse_json

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


@dataclass(frozen=True, slots=True)
class UnknownMessage:
    """A message that is neither a call nor a result; it is ignored."""

    type: str = ""


def parse_call(text: str | bytes) -> IdeToolCall | IdeToolResult | UnknownMessage:
    """Parse a call; return the result to send if it is malformed."""
    message = _parse_object(text)
    if message is None:
        return IdeToolResult("", success=False, text=INVALID_JSON_TEXT)
    kind = message.get("type")
    if kind != TOOL_CALL:
        return UnknownMessage(str(kind)) if kind else _make_missing_result("", "type")
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


def parse_result(text: str | bytes) -> IdeToolResult | UnknownMessage:
    """Parse a result, whose fields are in ``data``."""
    message = _parse_object(text) or {}
    if message.get("type") != TOOL_RESULT:
        return UnknownMessage(str(message.get("type", "")))
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
