"""Syntax of tool calls that a model writes as text.

Line marks (ReAct labels, tags, fences), and parsing of calls and their arguments.
"""

import ast
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from codekernel.domain.untrusted_text import check_json_depth


class LineMark(Enum):
    """What begins at a line; PLAIN is text, UNDECIDED needs more of the line."""

    PLAIN = auto()
    UNDECIDED = auto()
    THOUGHT = auto()
    ACTION = auto()
    INPUT = auto()
    OBSERVATION = auto()
    ANSWER = auto()
    THINK_TAG = auto()
    CALL_TAG = auto()
    CALL_FENCE = auto()
    CODE = auto()


_LABELS = {
    LineMark.THOUGHT: "Thought|THOUGHT|Thinking|思考|想法",
    LineMark.ACTION: "Action|ACTION|执行|行动|动作|调用工具",
    LineMark.INPUT: (
        "Action Input|ACTION INPUT|Action input|Input|行动输入|动作输入|执行参数|输入|参数"
    ),
    LineMark.OBSERVATION: "Observation|OBSERVATION|观察|观察结果|执行结果|结果",
    LineMark.ANSWER: ("Final Answer|FINAL ANSWER|Answer|最终答案|最终回答|回答|答案|回复"),
}

LABEL_MARKS = {label: mark for mark, labels in _LABELS.items() for label in labels.split("|")}

TAG_MARKS = {
    "<think>": LineMark.THINK_TAG,
    "<thinking>": LineMark.THINK_TAG,
    "<thought>": LineMark.THINK_TAG,
    "<tool_call>": LineMark.CALL_TAG,
}

CALL_FENCE_WORDS = ("tool", "tool_call", "tool_use", "tool_code", "action")

LABEL_COLONS = ":\N{FULLWIDTH COLON}"

_LABEL_DECORATION = " \t#*"

# What may stand between a label and its colon: a number, as in "Thought 2:", and stars.
_BEFORE_COLON = re.compile(r"[ \t*]{0,4}\d{0,3}[ \t*]{0,4}")

_FENCE_PATTERN = re.compile(r"(`{3,})([\w]*)([^\w`]?)", re.ASCII)


def classify_line(line: str, expected: Collection[LineMark]) -> tuple[LineMark, int]:
    """Return what begins at a line, and the length of its mark.

    A longer prefix of the same line has the same result, unless it was UNDECIDED.
    """
    start = line.lstrip(" \t")
    if not start:
        return LineMark.UNDECIDED, 0
    indent = len(line) - len(start)
    for judge in (_match_tag, _match_fence, _match_label):
        mark, used = judge(start, expected)
        if mark is not LineMark.PLAIN:
            return mark, indent + used
    return LineMark.PLAIN, 0


def _match_tag(start: str, awaited: Collection[LineMark]) -> tuple[LineMark, int]:
    for tag, mark in TAG_MARKS.items():
        if mark in awaited:
            if start.startswith(tag):
                return mark, len(tag)
            if tag.startswith(start):
                return LineMark.UNDECIDED, 0
    return LineMark.PLAIN, 0


def _match_fence(start: str, awaited: Collection[LineMark]) -> tuple[LineMark, int]:
    found = _FENCE_PATTERN.match(start)
    if found is None:
        return (LineMark.UNDECIDED if start in {"`", "``"} else LineMark.PLAIN), 0
    ticks, word, after = found.groups()
    words = CALL_FENCE_WORDS if LineMark.CALL_FENCE in awaited else ()
    if after and word in words:
        return LineMark.CALL_FENCE, len(ticks) + len(word)
    may_grow = not after and found.end() == len(start)
    if may_grow and any(each.startswith(word) for each in words):
        return LineMark.UNDECIDED, 0
    return LineMark.CODE, len(ticks)


def _match_label(start: str, awaited: Collection[LineMark]) -> tuple[LineMark, int]:
    text = start.lstrip(_LABEL_DECORATION)
    if not text:
        return (LineMark.PLAIN if start.endswith("\n") else LineMark.UNDECIDED), 0
    undecided = False
    for label, mark in LABEL_MARKS.items():
        if mark not in awaited:
            continue
        if label.startswith(text):
            undecided = True
        elif text.startswith(label):
            between = _BEFORE_COLON.match(text, len(label))
            end = between.end() if between else len(label)
            if end == len(text):
                undecided = True
            elif text[end] in LABEL_COLONS:
                return mark, len(start) - len(text) + end + 1
    return (LineMark.UNDECIDED if undecided else LineMark.PLAIN), 0


_NAME_KEYS = ("name", "tool", "tool_name", "action", "function")

_ARGUMENT_KEYS = (
    "arguments",
    "args",
    "input",
    "parameters",
    "params",
    "tool_input",
    "action_input",
)

_CALL_PATTERN = re.compile(r"`?([A-Za-z_][\w.-]*)`?\s*:?\s*(.*)", re.DOTALL)

_NAME_IN_JSON_PATTERN = re.compile(r'"(?:name|tool|tool_name|action)"\s*:\s*"([A-Za-z_][\w.-]*)"')

# How models say that they need none.
_NO_TOOL_WORDS = {"none", "n/a", "null", "nothing"}

_JSON_DECODER = json.JSONDecoder(strict=False)  # line ends inside a text are forgiven


@dataclass(frozen=True, slots=True)
class TextToolCall:
    """``arguments`` is JSON text, perhaps invalid; with ``is_loose`` this may have been prose."""

    name: str
    arguments: str
    is_loose: bool = False


def parse_text_calls(body: str) -> tuple[TextToolCall, ...]:
    """Return the calls that a text consists of; none if it is something else."""
    text = _strip_fence(body).strip()
    if text.startswith(("{", "[")):
        return _parse_json_calls(text)
    return _parse_call_expression(text)


def parse_text_arguments(body: str) -> str:
    """Return arguments as JSON text; other text becomes the argument ``input``."""
    text = _strip_fence(body).strip()
    if not text:
        return "{}"
    if text.startswith("{"):
        value = next(_decode_json_values(text), None)
        return text if value is None else _dump_json_text(value)
    return _dump_json_text({"input": text.strip("`")})


def _parse_json_calls(text: str) -> tuple[TextToolCall, ...]:
    calls: list[TextToolCall] = []
    for value in _decode_json_values(text):
        each = value if isinstance(value, list) else [value]
        calls += [call for item in each if (call := _parse_call_object(item)) is not None]
    if calls:
        return tuple(calls)
    # Broken JSON goes to the tool as it is, which reports what is wrong with it.
    named = _NAME_IN_JSON_PATTERN.search(text)
    return (TextToolCall(named[1], text),) if named else ()


def _parse_call_object(value: object) -> TextToolCall | None:
    if not isinstance(value, dict):
        return None
    key = next((key for key in _NAME_KEYS if value.get(key)), "")
    name = value.get(key)
    if isinstance(name, dict):  # {"function": {"name": ..., "arguments": ...}}
        return _parse_call_object(name)
    if not isinstance(name, str) or name.lower() in _NO_TOOL_WORDS:
        return None
    rest = {name: it for name, it in value.items() if name not in {key, "id", "type"}}
    given = next((value[each] or {} for each in _ARGUMENT_KEYS if each in value), rest)
    text = parse_text_arguments(given) if isinstance(given, str) else _dump_json_text(given)
    return TextToolCall(name, text)


def _parse_call_expression(text: str) -> tuple[TextToolCall, ...]:
    found = _CALL_PATTERN.fullmatch(text)
    if found is None or found[1].lower() in _NO_TOOL_WORDS or text.lower() in _NO_TOOL_WORDS:
        return ()
    name, rest = found[1], found[2].strip()
    if rest.startswith("(") and rest.endswith(")"):
        return (TextToolCall(name, _dump_json_text(_parse_keyword_arguments(rest))),)
    if not rest or rest.startswith("{"):
        return (TextToolCall(name, parse_text_arguments(rest)),)
    return (TextToolCall(name, _dump_json_text({"input": rest}), is_loose=True),)


def _parse_keyword_arguments(text: str) -> dict[str, Any]:
    """Parse ``(path="a.py", start_line=1)``; other text becomes the argument ``input``."""
    inside = text[1:-1].strip()
    if inside.startswith("{"):
        value = next(_decode_json_values(inside), None)
        if isinstance(value, dict):
            return value
    try:
        call = ast.parse(f"f{text}", mode="eval").body
        if isinstance(call, ast.Call) and not call.args:
            return {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        pass
    return {"input": inside.strip("\"'")} if inside else {}


def _decode_json_values(text: str) -> Iterator[Any]:
    """Yield the consecutive JSON values, up to the first invalid one."""
    while text:
        try:
            value, end = _JSON_DECODER.raw_decode(text)
            check_json_depth(value)
        except (ValueError, RecursionError):
            return
        yield value
        text = text[end:].lstrip(" \t\r\n,;")


def _strip_fence(body: str) -> str:
    text = body.strip()
    if not text.startswith("```"):
        return text
    _, _, inside = text.partition("\n")
    return inside.rstrip().removesuffix("```")


def _dump_json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
