"""Tools called one by one: a line asks, ``backend_only`` answers; failures say so once more.

    {"tool_name": "Edit", "tool_use_id": "toolu_1", "input": {...}}

The answer to a call that failed is followed by a ``tool_result`` with ``is_error``; a line that is
no call gets the latter alone. Calls are done one after another, in their order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kernel.agent.context import ToolContext
from kernel.agent.registry import Registry
from kernel.domain.safe_json import parse_json
from kernel.doors.kode.messages import Message, backend_only, tool_result
from kernel.transport.lines import Line, OversizedLine


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that somebody wants used; ``id`` comes back with the answer."""

    tool: str
    id: str
    given: dict[str, Any]


def answers(lines: Iterable[Line], registry: Registry, context: ToolContext) -> Iterator[Message]:
    """Every message, in order, until the lines end. Raises Cancelled if the context is."""
    for line in lines:
        call = _call(line)
        if isinstance(call, Call):
            yield from answer(call, registry, context)
        else:
            yield call


def answer(call: Call, registry: Registry, context: ToolContext) -> Iterator[Message]:
    """Do it, and what is said of it."""
    outcome = registry.call(call.tool, call.given, context)
    yield backend_only(call.tool, call.id, outcome)
    if not outcome.success:
        yield tool_result(call.id, outcome.text, is_error=True)


def _call(line: Line) -> Call | Message:
    """The call that a line asks for, or what is wrong with it."""
    if isinstance(line, OversizedLine):
        return tool_result("", f"The line is too long: {line.length:,} bytes.", is_error=True)
    try:
        asked = parse_json(line)
    except ValueError as error:
        return tool_result("", f"The line is no JSON: {error}.", is_error=True)
    if not isinstance(asked, dict):
        return tool_result("", "The line is no JSON object.", is_error=True)
    tool, name, given = asked.get("tool_name"), asked.get("tool_use_id"), asked.get("input", {})
    told = name if isinstance(name, str) else ""
    for field, value, wanted in (
        ("tool_name", tool, str), ("tool_use_id", name, str), ("input", given, dict)
    ):  # fmt: skip
        if not isinstance(value, wanted):
            kind = "an object" if wanted is dict else "a text"
            return tool_result(told, f"`{field}` is missing or not {kind}.", is_error=True)
    return Call(str(tool), told, given)
