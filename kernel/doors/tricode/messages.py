"""The messages of document 001, their fields in its order, and how one becomes a line."""

import json
from collections.abc import Mapping
from typing import Any

from kernel.domain.terminal_text import escape_controls_in_json

Message = dict[str, Any]


def system(message: str) -> Message:
    """A notice, such as the session's id."""
    return {"type": "system", "message": message}


def round_begun(number: int) -> Message:
    """The model is asked again."""
    return {"type": "round", "number": number}


def tool_call(name: str, arguments: Mapping[str, Any], formatted: str) -> Message:
    """A tool is about to be used."""
    return {
        "type": "tool_call",
        "name": name,
        "arguments": dict(arguments),
        "formatted": formatted,
    }


def tool_result(name: str, result: str, formatted: str, *, success: bool) -> Message:
    """What came of it."""
    return {
        "type": "tool_result",
        "name": name,
        "success": success,
        "result": result,
        "formatted": formatted,
    }


def reminder(message: str) -> Message:
    """The model wanted to end before its plan did."""
    return {"type": "reminder", "message": message}


def final(content: str) -> Message:
    """The answer."""
    return {"type": "final", "content": content}


def error(message: str) -> Message:
    """Why there is no answer; not in the document, which lets plain text stand there instead."""
    return {"type": "error", "message": message}


def as_line(message: Message) -> bytes:
    """UTF-8, with blanks as in the document; C1 controls and what is no Unicode are escaped."""
    return escape_controls_in_json(json.dumps(message, ensure_ascii=False)).encode() + b"\n"
