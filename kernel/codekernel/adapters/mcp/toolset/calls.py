"""The tools ``calls``, ``symbols`` and ``history``: callers and impact, definitions, commits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Annotated, ClassVar

from codekernel.agent.change_impact import DEFAULT_IMPACT_DEPTH, ChangeImpact, find_impact
from codekernel.agent.code_queries import (
    CodePlace,
    Symbol,
    ask_calls,
    find_definitions,
    find_history,
    list_symbols,
    parse_place,
    suggest_similar,
)
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.callgraph.test_ranking import UNSEEN, RankedTest, ReachedDefinition
from codekernel.domain.call_graph import (
    CallChainNode,
    CallChainResult,
    CallChainSteps,
    CallDirection,
)
from codekernel.domain.untrusted_text import encode_path
from codekernel.protocol.tool_schema import limit_number
from codekernel.search.line_history import LineCommit, LineHistory

MAX_CALLS_DEPTH = 6

# Of an impact; few of those that are farther matter.
MAX_SHOWN_CALLERS = 40

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
        impact = find_impact([arguments.symbol], depth, context)
        return make_success("\n".join(format_impact(impact, depth)))
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
        f" definitions in {files} files, within {depth} calls."
    )
    for distance, group in groupby(impact.callers[:MAX_SHOWN_CALLERS], lambda each: each.distance):
        yield f"{distance} call{'s' if distance > 1 else ''} away:"
        yield from map(_format_caller, group)
    if len(impact.callers) > MAX_SHOWN_CALLERS:
        yield f"- {len(impact.callers) - MAX_SHOWN_CALLERS} more"
    every = len(impact.tests) + len(impact.weak_tests)
    if impact.tests:
        yield f"tests, {len(impact.tests)} of {every} with any evidence, strongest first:"
        yield from map(_format_test, impact.tests)
    else:
        yield "tests: none found"
    if impact.left_out:
        yield f"[{impact.left_out} more callers were not followed]"
    if impact.behind:
        yield f"[{impact.behind} files are still being read: ask again]"
    yield f"[not seen: {UNSEEN}]"


def _format_caller(each: ReachedDefinition) -> str:
    doubt = "" if each.certainty == _CERTAIN else f" [{each.certainty}]"
    return f"- {_format_node(each.place)}{doubt}"


def _format_test(each: RankedTest) -> str:
    place = each.place
    name = str(CodePlace(place.path)) if place.kind == "file" else _format_node(place)
    return f"- {name} ({each.explain()})"


CALLS_TOOL = Tool(
    "calls",
    "Who calls a function or method, what it calls, or what a change of it reaches (impact).",
    CallsArguments,
    ToolPermission.READS,
    run_calls,
)


_SHORT_ID = 9


@dataclass(frozen=True, slots=True)
class HistoryArguments:
    """Of what.

    place: path, path:first-last, or the name of a definition
    """

    place: str

    ALIASES: ClassVar[Mapping[str, str]] = {"path": "place", "symbol": "place", "name": "place"}


def run_history(arguments: HistoryArguments, context: ToolContext) -> ToolOutcome:
    """Return the commits, newest first."""
    place, history = find_history(arguments.place, context)
    return make_success("\n".join(format_history(place, history)))


def format_history(place: CodePlace, history: LineHistory) -> Iterator[str]:
    """Return the rows of an answer."""
    named = CodePlace(encode_path(place.path), place.first_line, place.last_line)
    yield f"{named}: {len(history.commits)}{'+' if history.has_more else ''} commits"
    for commit in history.commits:
        yield _format_commit(commit)
        yield from (f"  {line}" for line in commit.body.splitlines() if line.strip())
    remarks = [*history.remarks]
    if history.uncommitted:
        remarks.append(f"not committed: lines {format_line_ranges(history.uncommitted)}")
    yield from (f"[{remark}]" for remark in remarks)


def _format_commit(commit: LineCommit) -> str:
    lines = f" (lines {format_line_ranges(commit.lines)})" if commit.lines else ""
    head = f"{commit.id[:_SHORT_ID]} {commit.date} {commit.author}"
    return f"{head}: {commit.subject}{lines}"


def format_line_ranges(lines: Sequence[int]) -> str:
    """Return ``4-6,9`` for 4, 5, 6, 9."""
    ranges = []
    for _, group in groupby(enumerate(sorted(lines)), lambda pair: pair[1] - pair[0]):
        numbers = [line for _, line in group]
        first, last = numbers[0], numbers[-1]
        ranges.append(str(first) if first == last else f"{first}-{last}")
    return ",".join(ranges)


HISTORY_TOOL = Tool(
    "history",
    "Why code is as it is: the commits that made a file, lines or a definition, from git.",
    HistoryArguments,
    ToolPermission.READS,
    run_history,
)


MAX_SYMBOLS = 200

MAX_LINE_CHARS = 160


@dataclass(frozen=True, slots=True)
class SymbolsArguments:
    """A file or a name, or both.

    path: a file, to list its definitions
    name: a name, or Class.name, to find its definitions
    """

    path: str = ""
    name: str = ""

    ALIASES: ClassVar[Mapping[str, str]] = {"file": "path", "file_path": "path", "symbol": "name"}


def _run_symbols(arguments: SymbolsArguments, context: ToolContext) -> ToolOutcome:
    path = parse_place(arguments.path, context).path if arguments.path.strip() else ""
    name = arguments.name.strip()
    if not path and not name:
        raise ToolError("Say which file, or which name: `path`, `name`, or both.")
    found = find_definitions(name, context, path) if name else list(list_symbols(path, context))
    if not found:
        if not name:
            raise ToolError(f"{path} defines nothing that has a name.")
        where = f" in {path}" if path else ""
        unknown = f"Nothing called {name} is defined{where}."
        exact = "Names are matched exactly, but for capitals."
        raise ToolError(f"{unknown} {exact}{suggest_similar(name, context)}")
    rows = [_format_symbol(symbol, indented=not name) for symbol in found[:MAX_SYMBOLS]]
    if len(found) > MAX_SYMBOLS:
        rows.append(f"[... {len(found) - MAX_SYMBOLS} more]")
    return make_success("\n".join(rows))


def _format_symbol(symbol: Symbol, *, indented: bool) -> str:
    line = (
        symbol.line if len(symbol.line) <= MAX_LINE_CHARS else f"{symbol.line[:MAX_LINE_CHARS]}..."
    )
    if indented:
        return f"{'  ' * symbol.depth}{symbol.first_line}-{symbol.last_line} {symbol.kind} {line}"
    return (
        f"{encode_path(symbol.path)}:{symbol.first_line}-{symbol.last_line} "
        f"{symbol.kind} {'.'.join(symbol.names)}: {line}"
    )


SYMBOLS_TOOL = Tool(
    "symbols",
    "Outline of a file, or where a name is defined, with lines.",
    SymbolsArguments,
    ToolPermission.READS,
    _run_symbols,
)
