"""The tool ``calls``: callers and callees of a definition, and what a change of it reaches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Annotated, ClassVar

from codekernel.adapters.mcp.toolset.places import CodePlace, parse_place
from codekernel.adapters.mcp.toolset.symbols import list_symbols
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import path_exists
from codekernel.agent.tools.index_search import explain_no_call_chain
from codekernel.callgraph.impact import UNSEEN, ChangeImpact, ReachedDefinition, compute_impact
from codekernel.domain.call_graph import (
    CallChainNode,
    CallChainQuery,
    CallChainResult,
    CallChainSteps,
    CallDirection,
)
from codekernel.protocol.tool_schema import limit_number
from codekernel.search.boosts import classify_path

MAX_CALLS_DEPTH = 6

# So far a change is followed unless a depth is given: farther callers are seldom touched.
DEFAULT_IMPACT_DEPTH = 3

# Definitions of a file or of lines that are followed at once.
MAX_CHANGED_DEFINITIONS = 30

# Of each list of an impact.
MAX_IMPACT_ROWS = 60

_CERTAIN = "certain"


class CallsDirection(StrEnum):
    """What is asked."""

    CALLERS = "callers"
    CALLEES = "callees"
    BOTH = "both"
    IMPACT = "impact"


@dataclass(frozen=True, slots=True)
class CallsArguments:
    """Of what, which way, and how far.

    symbol: name, Class.name, path:line or path
    direction: impact: all that a change reaches, and its tests
    depth: calls to follow
    """

    symbol: str
    direction: CallsDirection = CallsDirection.BOTH
    depth: Annotated[int, limit_number(0, MAX_CALLS_DEPTH)] = 0

    ALIASES: ClassVar[Mapping[str, str]] = {
        "method": "symbol",
        "name": "symbol",
        "place": "symbol",
        "path": "symbol",
    }


def run_calls(arguments: CallsArguments, context: ToolContext) -> ToolOutcome:
    """Follow the calls of all definitions that are meant."""
    if context.call_chain is None or not arguments.symbol.strip():
        raise ToolError("Say of what: a name, Class.name, path:line or path.")
    is_impact = arguments.direction is CallsDirection.IMPACT
    direction = CallDirection.CALLERS if is_impact else CallDirection(arguments.direction)
    depth = arguments.depth or (DEFAULT_IMPACT_DEPTH if is_impact else 1)
    names = list_meant_names(arguments.symbol.strip(), context)
    answers = [
        context.call_chain(
            CallChainQuery(name, direction, depth), context.cancel, context.limits.timeout_seconds
        )
        for name in names[:MAX_CHANGED_DEFINITIONS]
    ]
    found = [answer for answer in answers if answer.chains]
    if not found:
        raise ToolError(explain_no_call_chain(answers[0]))
    if is_impact:
        impact = compute_impact(found, lambda path: classify_path(path).is_test)
        rows = list(format_impact(impact, depth))
    else:
        rows = [row for answer in found for row in _format_answer(answer)]
    if len(names) > MAX_CHANGED_DEFINITIONS:
        rows.append(f"[{len(names) - MAX_CHANGED_DEFINITIONS} more definitions: name lines]")
    return make_success("\n".join(rows))


def list_meant_names(text: str, context: ToolContext) -> list[str]:
    """Return the name, or the names of the definitions at a place. Raises ToolError."""
    if not any(mark in text for mark in "./:\\"):
        return [text]
    place = parse_place(text, context)
    if not path_exists(context, place.path):
        return [text]  # Class.name
    symbols = list(list_symbols(place.path, context))
    if place.first_line:
        around = [
            each
            for each in symbols
            if each.first_line <= place.last_line and place.first_line <= each.last_line
        ]
        deepest = max((each.depth for each in around), default=0)
        symbols = [each for each in around if each.depth == deepest]
    if not symbols:
        raise ToolError(f"{place} is in no definition.")
    return list(dict.fromkeys(".".join(each.names) for each in symbols))


def _format_answer(answer: CallChainResult) -> Iterator[str]:
    for chain in answer.chains:
        yield _format_node(chain.place)
        for title, steps in (("callers", chain.callers), ("callees", chain.callees)):
            if steps is None:
                continue
            yield f"{title}:" if steps.steps else f"{title}: none found"
            yield from _format_steps(steps, "")
            if steps.outside:
                yield f"- outside, or unknown: {', '.join(steps.outside)}"
    if answer.more:
        yield f"[{answer.more} more definitions of this name: say Class.name]"
    if answer.behind:
        yield f"[{answer.behind} files are still being read: ask again]"


def _format_steps(steps: CallChainSteps, indent: str) -> Iterator[str]:
    for step in steps.steps:
        lines = ",".join(map(str, step.lines))
        doubt = "" if step.certainty == _CERTAIN else f" [{step.certainty}]"
        again = " (see above)" if step.again else ""
        yield f"{indent}- {_format_node(step.place)} calls at {lines}{doubt}{again}"
        yield from _format_steps(step.next, f"{indent}  ")
    if steps.more or steps.unread:
        yield f"{indent}- {steps.more + steps.unread} more"


def _format_node(place: CallChainNode) -> str:
    if place.kind == "file":
        return f"{place.path} (top level)"
    return f"{place.name} {CodePlace(place.path, place.first_line, place.last_line)}"


def format_impact(impact: ChangeImpact, depth: int) -> Iterator[str]:
    """Return the rows of an impact; it never says that a change is safe."""
    files = len({each.place.path for each in impact.callers})
    yield (
        f"Changing {', '.join(_format_node(place) for place in impact.changed[:5])}"
        f"{' and others' if len(impact.changed) > 5 else ''} reaches {len(impact.callers)}"  # noqa: PLR2004
        f" definitions in {files} files and {len(impact.tests)} tests, within {depth} calls."
    )
    for distance, group in groupby(impact.callers[:MAX_IMPACT_ROWS], lambda each: each.distance):
        yield f"{distance} call{'s' if distance > 1 else ''} away:"
        yield from map(_format_reached, group)
    yield from _format_rest(impact.callers)
    if impact.tests:
        yield "tests:"
        yield from map(_format_reached, impact.tests[:MAX_IMPACT_ROWS])
        yield from _format_rest(impact.tests)
    else:
        yield "tests: none found that reach it by calls"
    if impact.left_out:
        yield f"[{impact.left_out} more callers were not followed]"
    if impact.behind:
        yield f"[{impact.behind} files are still being read: ask again]"
    yield f"[not seen: {UNSEEN}]"


def _format_reached(each: ReachedDefinition) -> str:
    doubt = "" if each.certainty == _CERTAIN else f" [{each.certainty}]"
    return f"- {_format_node(each.place)}{doubt}"


def _format_rest(rows: Sequence[ReachedDefinition]) -> Iterator[str]:
    if len(rows) > MAX_IMPACT_ROWS:
        yield f"- {len(rows) - MAX_IMPACT_ROWS} more"


CALLS_TOOL = Tool(
    "calls",
    "Who calls a function or method, what it calls, or what a change of it reaches (impact).",
    CallsArguments,
    ToolPermission.READS,
    run_calls,
)
