"""Callers and callees of what a place names, and what a change of it reaches."""

from codekernel.agent.code_queries.context import CodeContext
from codekernel.agent.code_queries.places import parse_place
from codekernel.agent.code_queries.symbols import list_symbols, suggest_similar
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.tools.file_access import path_exists
from codekernel.agent.tools.index_search import explain_no_call_chain
from codekernel.callgraph.impact import ChangeImpact, compute_impact
from codekernel.domain.call_graph import CallChainQuery, CallChainResult, CallDirection
from codekernel.search.boosts import classify_path

# So far a change is followed unless a depth is given: farther callers are seldom touched.
DEFAULT_IMPACT_DEPTH = 3

# Definitions of a file or of lines that are followed at once.
MAX_CHANGED_DEFINITIONS = 30


def find_impact(text: str, depth: int, context: CodeContext) -> tuple[ChangeImpact, int]:
    """Return what a change reaches, and how many definitions of the place were not followed.

    Raises ToolError.
    """
    answers, unread = ask_calls(text, CallDirection.CALLERS, depth, context)
    return compute_impact(answers, lambda path: classify_path(path).is_test), unread


def ask_calls(
    text: str, direction: CallDirection, depth: int, context: CodeContext
) -> tuple[list[CallChainResult], int]:
    """Follow the calls of all definitions that are meant; as ``find_impact``."""
    if context.call_chain is None or not text.strip():
        raise ToolError("Say of what: a name, Class.name, path:line or path.")
    names = list_meant_names(text.strip(), context)
    answers = [
        context.call_chain(
            CallChainQuery(name, direction, depth), context.cancel, context.limits.timeout_seconds
        )
        for name in names[:MAX_CHANGED_DEFINITIONS]
    ]
    found = [answer for answer in answers if answer.chains]
    if not found:
        raise ToolError(explain_no_call_chain(answers[0]) + suggest_similar(text, context))
    return found, max(0, len(names) - MAX_CHANGED_DEFINITIONS)


def list_meant_names(text: str, context: CodeContext) -> list[str]:
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
