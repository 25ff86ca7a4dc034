"""The tool ``calls``: callers and callees of a definition, and what a change of it reaches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Annotated, ClassVar

from codekernel.agent.code_queries import DEFAULT_IMPACT_DEPTH, CodePlace, ask_calls, find_impact
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolPermission
from codekernel.callgraph.impact import UNSEEN, ChangeImpact, ReachedDefinition
from codekernel.domain.call_graph import (
    CallChainNode,
    CallChainResult,
    CallChainSteps,
    CallDirection,
)
from codekernel.protocol.tool_schema import limit_number

MAX_CALLS_DEPTH = 6

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
    if arguments.direction is CallsDirection.IMPACT:
        depth = arguments.depth or DEFAULT_IMPACT_DEPTH
        impact, unread = find_impact(arguments.symbol, depth, context)
        rows = list(format_impact(impact, depth))
    else:
        direction, depth = CallDirection(arguments.direction), arguments.depth or 1
        answers, unread = ask_calls(arguments.symbol, direction, depth, context)
        rows = [row for answer in answers for row in _format_answer(answer)]
    if unread:
        rows.append(f"[{unread} more definitions: name lines]")
    return make_success("\n".join(rows))


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
