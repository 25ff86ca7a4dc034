"""search: our own ranked search of the repository."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.domain.chunk import symbol_path
from kernel.domain.hit import FRESH, Hit
from kernel.domain.path_text import encode_path
from kernel.protocol.tool_arguments import about

_LONGEST_EXCERPT = 1_500


@dataclass(frozen=True, slots=True)
class Search:
    """A question to the index."""

    query: Annotated[
        str,
        about(
            "a name, an exact message in quotes, or a short phrase in plain words; filters may be"
            " added: lang:python path:src/auth file:config symbol:Session"
        ),
    ]
    limit: Annotated[int, about("how many places at the most", least=1, most=50)] = 10


def _run(arguments: Search, context: ToolContext) -> Outcome:
    if context.search is None:
        raise ToolFailed("There is no index to search here: use search_context.")
    if not arguments.query.strip():
        raise ToolFailed("The query is empty: say what to look for.")
    hits = context.search(arguments.query, arguments.limit)
    if not hits:
        return done("No matches found", {"hits": []})
    return done("\n\n".join(map(_shown, hits)), {"hits": [_described(hit) for hit in hits]})


def _shown(hit: Hit) -> str:
    lines = f"{hit.chunk.chunk.begin_line + 1}-{hit.chunk.chunk.end_line}"
    symbols = symbol_path(hit.chunk.chunk.symbols)
    names = f" {symbols}" if symbols else ""
    doubt = f" [{hit.freshness}]" if hit.freshness != FRESH else ""
    text = hit.content[:_LONGEST_EXCERPT].rstrip("\n")
    more = "\n[...]" if len(hit.content) > _LONGEST_EXCERPT else ""
    return f"{encode_path(hit.chunk.path)}:{lines}{names}{doubt}\n{text}{more}"


def _described(hit: Hit) -> dict[str, object]:
    return {
        "path": encode_path(hit.chunk.path),
        "begin_line": hit.chunk.chunk.begin_line + 1,
        "end_line": hit.chunk.chunk.end_line,
        "score": hit.score,
        "content": hit.content,
    }


TOOL = Tool(
    name="search",
    purpose=(
        "Find code and documents by meaning: ranked search over the whole repository. Gives places"
        " with their lines and text, best first. For an exact text use search_context."
    ),
    arguments=Search,
    danger=Danger.READS,
    run=_run,
)
