"""Syntax of tool calls that a model writes as text.

Line marks (ReAct labels, tags, fences), call bodies, and parsing of calls and arguments.
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
    if not start.startswith("`"):
        return LineMark.PLAIN, 0
    if start in {"`", "``"}:
        return LineMark.UNDECIDED, 0
    found = _FENCE_PATTERN.match(start)
    if found is None:
        return LineMark.PLAIN, 0
    ticks, word, after = found.groups()
    if LineMark.CALL_FENCE in awaited:
        if (
            not after
            and found.end() == len(start)
            and any(it.startswith(word) for it in CALL_FENCE_WORDS)
        ):
            return LineMark.UNDECIDED, 0
        if after and word in CALL_FENCE_WORDS:
            return LineMark.CALL_FENCE, len(ticks) + len(word)
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


_CLOSING_TAG = "</tool_call>"

_FENCE_MARK = "```"

_BRACKET_PAIRS = {"{": "}", "[": "]", "(": ")"}

_NO_TOOL_PATTERN = re.compile(
    r"\W*(?:none|n/a|null|nothing|无|没有)\b.{0,40}", re.IGNORECASE | re.DOTALL
)


class CallBody:
    """Collects the characters of a call; its end depends on the mark that began it."""

    def __init__(self, mark: LineMark, opening: str) -> None:
        self.mark = mark
        self._opening = opening
        self._characters: list[str] = []
        self._line = ""
        self._first_characters = ""  # of the body, as far as it takes to see a fence
        self._depth = 0
        self._is_quoted = self._is_escaped = False

    @property
    def text(self) -> str:
        """The text between the marks."""
        text = "".join(self._characters)
        if self.mark is LineMark.CALL_TAG:
            return text.removesuffix(_CLOSING_TAG)
        if self.mark is LineMark.CALL_FENCE:
            return text.rstrip().removesuffix(_FENCE_MARK)
        return text

    @property
    def source(self) -> str:
        """The text with its marks, as the model wrote it."""
        return self._opening + "".join(self._characters)

    @property
    def is_no_tool(self) -> bool:
        """Whether the model writes that it needs no tool."""
        return self.mark is LineMark.ACTION and bool(_NO_TOOL_PATTERN.fullmatch(self.text.strip()))

    def feed(self, character: str) -> bool:
        """Add a character; return whether the body is complete."""
        self._characters.append(character)
        self._line += character
        if self.mark is LineMark.CALL_TAG:
            self._line = self._line[-len(_CLOSING_TAG) :]
            return self._line == _CLOSING_TAG
        if self.mark is not LineMark.CALL_FENCE:
            self._track_brackets(character)
        if character != "\n":
            return False
        line, self._line = self._line, ""
        return self._is_last_line(line)

    def _is_last_line(self, line: str) -> bool:
        """Return whether this line completes a body that ends with a line."""
        if self.mark is LineMark.CALL_FENCE:
            return line.rstrip().endswith(_FENCE_MARK)
        if self._first_characters == _FENCE_MARK:
            return line.strip() == _FENCE_MARK
        return bool(self._first_characters) and self._depth == 0

    def _track_brackets(self, character: str) -> None:
        """Count open brackets outside of strings; before the first one quotes have no meaning."""
        if len(self._first_characters) < len(_FENCE_MARK) and (
            self._first_characters or not character.isspace()
        ):
            self._first_characters += character
        if self._is_escaped:
            self._is_escaped = False
        elif self._is_quoted:
            self._is_escaped = character == "\\"
            self._is_quoted = character != '"'
        elif character == '"' and self._depth:
            self._is_quoted = True
        elif character in _BRACKET_PAIRS:
            self._depth += 1
        elif character in _BRACKET_PAIRS.values() and self._depth:
            self._depth -= 1


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
    return TextToolCall(name, _get_arguments(value, key))


def _get_arguments(value: dict[str, Any], key: str) -> str:
    held = next((each for each in _ARGUMENT_KEYS if each in value), None)
    if held is None:
        rest = {name: it for name, it in value.items() if name not in {key, "id", "type"}}
        return _dump_json_text(rest)
    given = value[held]
    return parse_text_arguments(given) if isinstance(given, str) else _dump_json_text(given or {})


def _parse_call_expression(text: str) -> tuple[TextToolCall, ...]:
    found = _CALL_PATTERN.fullmatch(text)
    if found is None or found[1].lower() in _NO_TOOL_WORDS or text.lower() in _NO_TOOL_WORDS:
        return ()
    name, rest = found[1], found[2].strip()
    if not rest:
        return (TextToolCall(name, "{}"),)
    if rest.startswith("{"):
        return (TextToolCall(name, parse_text_arguments(rest)),)
    if rest.startswith("(") and rest.endswith(")"):
        return (TextToolCall(name, _dump_json_text(_parse_keyword_arguments(rest))),)
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
    place = 0
    while place < len(text):
        try:
            value, end = _JSON_DECODER.raw_decode(text, place)
            check_json_depth(value)
        except (ValueError, RecursionError):
            return
        place = end
        yield value
        while place < len(text) and text[place] in " \t\r\n,;":
            place += 1


def _strip_fence(body: str) -> str:
    text = body.strip()
    if not text.startswith("```"):
        return text
    _, _, inside = text.partition("\n")
    return inside.rstrip().removesuffix("```")


def _dump_json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
