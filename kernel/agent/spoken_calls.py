"""Tool calls that a model wrote as text, however it wrote them.

{"name": "read_file", "arguments": {"path": "a.py"}}
read_file {"path": "a.py"}
read_file(path="a.py", start_line=1)
ls ./src
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kernel.domain.safe_json import check_depth

_NAMES = ("name", "tool", "tool_name", "action", "function")
_ARGUMENTS = ("arguments", "args", "input", "parameters", "params", "tool_input", "action_input")
_CALL = re.compile(r"`?([A-Za-z_][\w.-]*)`?\s*:?\s*(.*)", re.DOTALL)
_NAME_IN_JSON = re.compile(r'"(?:name|tool|tool_name|action)"\s*:\s*"([A-Za-z_][\w.-]*)"')
# How models say that they need none.
_NO_TOOL = {"none", "n/a", "null", "nothing"}
_DECODER = json.JSONDecoder(strict=False)  # line ends inside a text are forgiven


@dataclass(frozen=True, slots=True)
class SpokenCall:
    """``arguments`` is JSON text, perhaps broken; ``loose``: this may have been prose."""

    name: str
    arguments: str
    loose: bool = False


def calls_in(body: str) -> tuple[SpokenCall, ...]:
    """The calls that a text consists of; none if it is something else."""
    text = _without_fence(body).strip()
    if text.startswith(("{", "[")):
        return _of_json(text)
    return _of_words(text)


def arguments_in(body: str) -> str:
    """The JSON text of arguments that stand by themselves; other text is the one argument."""
    text = _without_fence(body).strip()
    if not text:
        return "{}"
    if text.startswith("{"):
        value = next(_values(text), None)
        return text if value is None else _dumped(value)
    return _dumped({"input": text.strip("`")})


def _of_json(text: str) -> tuple[SpokenCall, ...]:
    calls: list[SpokenCall] = []
    for value in _values(text):
        each = value if isinstance(value, list) else [value]
        calls += [call for item in each if (call := _of_value(item)) is not None]
    if calls:
        return tuple(calls)
    # Broken JSON goes to the tool as it is, which says what is wrong with it.
    named = _NAME_IN_JSON.search(text)
    return (SpokenCall(named[1], text),) if named else ()


def _of_value(value: object) -> SpokenCall | None:
    if not isinstance(value, dict):
        return None
    key = next((key for key in _NAMES if value.get(key)), "")
    name = value.get(key)
    if isinstance(name, dict):  # {"function": {"name": ..., "arguments": ...}}
        return _of_value(name)
    if not isinstance(name, str) or name.lower() in _NO_TOOL:
        return None
    return SpokenCall(name, _arguments_of(value, key))


def _arguments_of(value: dict[str, Any], key: str) -> str:
    held = next((each for each in _ARGUMENTS if each in value), None)
    if held is None:
        rest = {name: it for name, it in value.items() if name not in {key, "id", "type"}}
        return _dumped(rest)
    given = value[held]
    return arguments_in(given) if isinstance(given, str) else _dumped(given or {})


def _of_words(text: str) -> tuple[SpokenCall, ...]:
    found = _CALL.fullmatch(text)
    if found is None or found[1].lower() in _NO_TOOL or text.lower() in _NO_TOOL:
        return ()
    name, rest = found[1], found[2].strip()
    if not rest:
        return (SpokenCall(name, "{}"),)
    if rest.startswith("{"):
        return (SpokenCall(name, arguments_in(rest)),)
    if rest.startswith("(") and rest.endswith(")"):
        return (SpokenCall(name, _dumped(_between_brackets(rest))),)
    return (SpokenCall(name, _dumped({"input": rest}), loose=True),)


def _between_brackets(text: str) -> dict[str, Any]:
    """``(path="a.py", start_line=1)``, or whatever else stands there as one text."""
    inside = text[1:-1].strip()
    if inside.startswith("{"):
        value = next(_values(inside), None)
        if isinstance(value, dict):
            return value
    try:
        call = ast.parse(f"f{text}", mode="eval").body
        if isinstance(call, ast.Call) and not call.args:
            return {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        pass
    return {"input": inside.strip("\"'")} if inside else {}


def _values(text: str) -> Iterator[Any]:
    """The JSON values that follow each other, up to the first that is none."""
    place = 0
    while place < len(text):
        try:
            value, end = _DECODER.raw_decode(text, place)
            check_depth(value)
        except (ValueError, RecursionError):
            return
        place = end
        yield value
        while place < len(text) and text[place] in " \t\r\n,;":
            place += 1


def _without_fence(body: str) -> str:
    text = body.strip()
    if not text.startswith("```"):
        return text
    _, _, inside = text.partition("\n")
    return inside.rstrip().removesuffix("```")


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
