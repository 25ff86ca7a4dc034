"""Tools over the index: search (ranked) and call_chain (callers and callees)."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.domain.call_graph import (
    MAX_CHAIN_DEPTH,
    CallChainNode,
    CallChainQuery,
    CallChainResult,
    CallChainStep,
    CallChainSteps,
    CallDirection,
    DefinitionCallChain,
)
from codekernel.domain.index import FRESH, Hit, format_symbol_path
from codekernel.domain.untrusted_text import encode_path
from codekernel.protocol.tool_schema import limit_number

_MAX_EXCERPT_CHARACTERS = 1_500


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """A question to the index.

    query: a name, an exact message in quotes, or a short phrase in plain words; filters may be
        added: lang:python path:src/auth file:config symbol:Session
    limit: how many places at the most
    """

    query: str
    limit: Annotated[int, limit_number(1, 50)] = 10


@tool("search", ToolPermission.READS)
def search(arguments: SearchArguments, context: ToolContext) -> ToolOutcome:
    """Find code and documents by meaning: ranked search over the whole repository.

    Gives places with their lines and text, best first. For an exact text use search_context.
    """
    if context.search is None:
        raise ToolError("There is no index to search here: use search_context.")
    if not arguments.query.strip():
        raise ToolError("The query is empty: say what to look for.")
    hits = context.search(arguments.query, arguments.limit)
    if not hits:
        return make_success("No matches found", {"hits": []})
    return make_success(
        "\n\n".join(map(_format_hit, hits)), {"hits": [_hit_to_dict(hit) for hit in hits]}
    )


def _format_hit(hit: Hit) -> str:
    lines = f"{hit.chunk.begin_line + 1}-{hit.chunk.end_line}"
    symbols = format_symbol_path(hit.chunk.symbols)
    names = f" {symbols}" if symbols else ""
    doubt = f" [{hit.freshness}]" if hit.freshness != FRESH else ""
    text = hit.content[:_MAX_EXCERPT_CHARACTERS].rstrip("\n")
    more = "\n[...]" if len(hit.content) > _MAX_EXCERPT_CHARACTERS else ""
    return f"{encode_path(hit.chunk.path)}:{lines}{names}{doubt}\n{text}{more}"


def _hit_to_dict(hit: Hit) -> dict[str, object]:
    return {
        "path": encode_path(hit.chunk.path),
        "begin_line": hit.chunk.begin_line + 1,
        "end_line": hit.chunk.end_line,
        "score": hit.score,
        "content": hit.content,
    }


def _format_call_chain(answer: CallChainResult) -> str:
    """The whole answer; same-named definitions follow each other."""
    asked = answer.question
    lines = [
        f"## Call chain: {asked.method}",
        "",
        f"**Direction**: {asked.direction}",
        f"**Depth**: {asked.depth}",
        f"**Definitions**: {len(answer.chains) + answer.more}",
    ]
    if answer.behind:
        lines += ["", _describe_unread_files(answer.behind)]
    for chain in answer.chains:
        lines += ["", *_format_chain(chain)]
    if answer.more:
        more = f"{answer.more} more definitions of this name: ask with ClassName.methodName."
        lines += ["", more]
    return "\n".join(lines)


def explain_no_call_chain(answer: CallChainResult) -> str:
    """Why there is no chain, and what to do."""
    calling = answer.calling_files
    parts = [
        f"No definition of {answer.question.method} in the index.",
        f"{calling} files call something of this name, so it is likely from a library."
        if calling
        else "Names are matched exactly: check the spelling, or ask with the bare method name.",
        *([_describe_unread_files(answer.behind)] if answer.behind else ()),
    ]
    return " ".join(parts)


def _format_chain(chain: DefinitionCallChain) -> Iterator[str]:
    yield f"### {chain.place.name} ({_format_location(chain.place)})"
    yield from _format_source(chain.place, "")
    for title, steps in (("Callers", chain.callers), ("Callees", chain.callees)):
        if steps is None:
            continue
        yield ""
        yield f"**{title}** ({len(steps.steps) + steps.more}):"
        yield from _format_steps(steps, "") if steps.steps else ("- none found",)
        if steps.outside:
            names = ", ".join(steps.outside)
            yield f"- calls that leave the repository, or cannot be told: {names}"


def _format_steps(steps: CallChainSteps, indent: str) -> Iterator[str]:
    for step in steps.steps:
        yield f"{indent}- {_format_step(step)}"
        yield from _format_source(step.place, f"{indent}  ")
        yield from _format_steps(step.next, f"{indent}  ")
    if steps.more:
        yield f"{indent}- {steps.more} more"
    if steps.unread:
        yield f"{indent}- {steps.unread} more files call this name and were not looked at"


def _format_step(step: CallChainStep) -> str:
    many = "lines" if len(step.lines) > 1 else "line"
    called = f"call at {many} {', '.join(map(str, step.lines))}"
    again = "; see above" if step.again else ""
    return f"{step.place.name} ({_format_location(step.place)}) [{step.certainty}] {called}{again}"


def _format_location(place: CallChainNode) -> str:
    if place.kind == "file":
        return "code of the file, in no definition"
    return f"{place.kind}, {place.path}:{place.first_line}-{place.last_line}"


def _format_source(place: CallChainNode, indent: str) -> Iterator[str]:
    if place.source:
        yield f"{indent}```"
        yield from (f"{indent}{line}".rstrip() for line in place.source.split("\n"))
        yield f"{indent}```"


def _describe_unread_files(files: int) -> str:
    return f"{files} files are still being read: ask again in a moment for all of their calls."


@dataclass(frozen=True, slots=True)
class CallChainArguments:
    """Of what, which way, and how far.

    method: ClassName.methodName, or the name of a function or class
    direction: callers, callees or both
    depth: how many calls far
    include_source: with the text of each definition
    """

    method: str
    direction: CallDirection = CallDirection.BOTH
    depth: Annotated[int, limit_number(1, MAX_CHAIN_DEPTH)] = 1
    include_source: bool = False

    ALIASES: ClassVar[Mapping[str, str]] = {"name": "method", "symbol": "method"}


@tool("call_chain", ToolPermission.READS)
def call_chain(arguments: CallChainArguments, context: ToolContext) -> ToolOutcome:
    """Who calls a function or method, and what it calls, over the whole repository.

    Each call says how sure it is: certain, likely (by name alone, but only one fits), possible.
    """
    if context.call_chain is None:
        raise ToolError("There is no index to follow calls in here: use search_context.")
    if not arguments.method.strip():
        raise ToolError("The method is empty: say ClassName.methodName, or a name.")
    question = CallChainQuery(
        arguments.method.strip(), arguments.direction, arguments.depth, arguments.include_source
    )
    answer = context.call_chain(question, context.cancel, context.limits.timeout_seconds)
    if not answer.chains:
        raise ToolError(explain_no_call_chain(answer), asdict(answer))
    return make_success(_format_call_chain(answer), asdict(answer))
