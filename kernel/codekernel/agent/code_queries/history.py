"""The commits behind a file, lines of it, or a definition."""

from codekernel.agent.code_queries.context import CodeContext
from codekernel.agent.code_queries.places import CodePlace, parse_place
from codekernel.agent.code_queries.symbols import find_definitions, suggest_similar
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.tools.file_access import path_exists
from codekernel.search.line_history import DEFAULT_COMMITS, LineHistory, read_line_history


def find_history(
    text: str, context: CodeContext, limit: int = DEFAULT_COMMITS
) -> tuple[CodePlace, LineHistory]:
    """Return the place that is meant, and its commits, newest first.

    Raises ToolError, HistoryUnavailable.
    """
    place = locate_definition(text, context)
    lines = (place.first_line, place.last_line) if place.first_line else None
    return place, read_line_history(context.root.folder, place.path, lines, limit)


def locate_definition(text: str, context: CodeContext) -> CodePlace:
    """Return the place that a text names: a path, with lines or not, or a definition."""
    text = text.strip()
    if not text:
        raise ToolError("Say of what: a path, path:first-last, or a name.")
    place = parse_place(text, context)
    if path_exists(context, place.path):
        return place
    found = find_definitions(text, context)
    if not found:
        similar = suggest_similar(text, context)
        raise ToolError(f"There is no file {text}, and nothing of this name is defined.{similar}")
    if len(found) > 1:
        places = ", ".join(f"{each.path}:{each.first_line}-{each.last_line}" for each in found[:10])
        raise ToolError(f"{text} is defined in several places; name one: {places}")
    return CodePlace(found[0].path, found[0].first_line, found[0].last_line)
