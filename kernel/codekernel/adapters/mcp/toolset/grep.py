"""The tool ``grep``: lines with a text or a regular expression, bounded."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter
from typing import ClassVar

from codekernel.agent.code_queries import strip_scheme
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.grep import LineMatch, LineSearch
from codekernel.protocol.tool_schema import NonNegativeInt
from codekernel.search.filters import is_path_match

# Of one answer.
MAX_LINES = 100

_MAX_LINE_CHARS = 200

_WILDCARDS = frozenset("*?")


@dataclass(frozen=True, slots=True)
class GrepArguments:
    """What to look for, and where.

    pattern: a text as it stands, or with regex a regular expression
    path: a file, folder or glob
    """

    pattern: str
    path: str = ""
    regex: bool = False
    ignore_case: bool = False
    offset: NonNegativeInt = 0

    ALIASES: ClassVar[Mapping[str, str]] = {"query": "pattern", "glob": "path", "include": "path"}


def run_grep(arguments: GrepArguments, context: ToolContext) -> ToolOutcome:
    """Return the lines by file, and how to get the others."""
    search = LineSearch(
        context, arguments.pattern, is_regex=arguments.regex, ignore_case=arguments.ignore_case
    )
    wanted = arguments.offset + MAX_LINES
    matches = _search_place(search, strip_scheme(arguments.path) or ".", context)
    found = list(islice(matches, wanted + 1))
    page = found[arguments.offset : wanted]
    rows = list(_format_matches(page))
    if len(found) > wanted:
        rows.append(f"[lines {arguments.offset + 1}-{wanted} of more: offset={wanted}]")
    if not search.is_complete:
        seconds = context.limits.timeout_seconds
        rows.append(f"[stopped after {seconds:g} s: not everything was searched; name a folder]")
    return make_success(
        "\n".join(rows) or "No line matches. Ignored and binary files are left out."
    )


def _search_place(search: LineSearch, path: str, context: ToolContext) -> Iterator[LineMatch]:
    if _WILDCARDS.intersection(path):
        with context.root.reach(".") as place:
            yield from search.search_folder(place, lambda each: is_path_match(path, each))
        return
    with context.root.reach(path) as place:
        if place.is_folder:
            yield from search.search_folder(place)
        elif place.status is not None:
            yield from search.search_file(place, path)
        else:
            raise ToolError(f"There is no {path}.")


def _format_matches(matches: Iterable[LineMatch]) -> Iterator[str]:
    for path, lines in groupby(matches, attrgetter("path")):
        yield path
        for each in lines:
            text = each.text.strip()
            cut = f"{text[:_MAX_LINE_CHARS]}..." if len(text) > _MAX_LINE_CHARS else text
            yield f"{each.line}: {cut}"


GREP_TOOL = Tool(
    "grep",
    "Find lines by exact text or regular expression in files as they are now.",
    GrepArguments,
    ToolPermission.READS,
    run_grep,
)
