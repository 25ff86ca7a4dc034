"""search_context: lines of files that match a regular expression, as ripgrep prints them."""

from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.line_search import FoundLine, LineSearch
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about

NO_MATCHES = "No matches found"


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What to look for, and where."""

    pattern: Annotated[str, about("a regular expression, matched line by line")]
    path: Annotated[str, about("the folder or file to search")] = "."


def _run(arguments: SearchContext, context: ToolContext) -> Outcome:
    search = LineSearch(context, arguments.pattern)
    most = context.limits.matches
    with context.root.reach(arguments.path) as place:
        if place.is_folder:
            lines, shown = search.below(place), _with_path
        elif place.status is not None:
            lines, shown = search.in_file(place, arguments.path), _without_path
        else:
            raise ToolFailed(f"Path not found: {arguments.path}")
        found = list(islice(lines, most + 1))
    texts = [shown(each) for each in found[:most]]
    if len(found) > most:
        texts.append(f"[more than {most:,} matches: make the pattern longer or name a folder]")
    if not search.is_complete:
        texts.append(
            f"[stopped after {context.limits.seconds:g} seconds, not everything was searched:"
            " name a folder]"
        )
    data = {"matches": min(len(found), most), "complete": search.is_complete}
    return done("\n".join(texts) if texts else NO_MATCHES, data)


def _with_path(found: FoundLine) -> str:
    return f"{found.path}:{found.number}:{found.text}"


def _without_path(found: FoundLine) -> str:
    return f"{found.number}:{found.text}"


TOOL = Tool(
    name="search_context",
    purpose=(
        "Search the text of files with a regular expression. Gives file:line:text for a folder,"
        " line:text for a single file. Files that .gitignore names are left out."
    ),
    arguments=SearchContext,
    danger=Danger.READS,
    run=_run,
)
