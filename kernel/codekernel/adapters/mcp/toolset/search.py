"""The tools ``search`` and ``status``: ranked places packed into a budget; state of the index."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

from codekernel.adapters import indexed_repository
from codekernel.adapters.indexed_repository import IndexedRepository
from codekernel.agent.code_queries import CodePlace, parse_place
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.domain.index import FRESH, Hit, format_symbol_path
from codekernel.domain.progress import ProgressCallback
from codekernel.domain.untrusted_text import encode_path
from codekernel.protocol.tool_schema import NonNegativeInt, limit_number

# By granite's tokenizer, which is in the box, 2.5 in Python, 2.8 in JavaScript, 3.4 in Markdown;
# chat models need fewer tokens for blanks.
CHARS_PER_TOKEN = 3

DEFAULT_BUDGET_TOKENS = 2_500

MIN_BUDGET_TOKENS, MAX_BUDGET_TOKENS = 100, 12_000

# Claude Code moves an answer of more than 50,000 characters to a file.
MAX_ANSWER_CHARS = 40_000


def count_budget_chars(tokens: int) -> int:
    """Return how many characters a number of tokens are."""
    return min(tokens * CHARS_PER_TOKEN, MAX_ANSWER_CHARS)


def take_within(blocks: Iterable[str], max_chars: int) -> list[str]:
    """Return the first blocks that fit, at least one."""
    taken: list[str] = []
    left = max_chars
    for block in blocks:
        left -= len(block) + 1
        if left < 0 and taken:
            break
        taken.append(block)
    return taken


def cut_lines(lines: list[str], max_chars: int) -> int:
    """Return how many of the lines fit, at least one."""
    return len(take_within(lines, max_chars)) if lines else 0


# So many are ranked for a page and what may follow it.
MAX_PAGE_HITS = 40

# Hits without their text behind those with it: a place costs a dozen tokens.
MAX_PLACES_BEHIND = 3

_MAX_EXCERPT_CHARS = 1_500

# In the data of an outcome.
SHOWN_PATHS = "paths"

# Code like a place, and how many: relative path, line, limit.
RelatedFinder = Callable[[str, int, int], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class CodeSearchArguments:
    """What to look for, and where.

    query: plain words, a name, an error message, "exact text" or /regex/
    like: instead of query: path:line, to find code like that place
    path: only below this folder or glob
    language: only in this language
    budget: tokens of the answer
    offset: hits to skip
    """

    query: str = ""
    like: str = ""
    path: str = ""
    language: str = ""
    budget: Annotated[int, limit_number(MIN_BUDGET_TOKENS, MAX_BUDGET_TOKENS)] = (
        DEFAULT_BUDGET_TOKENS
    )
    offset: NonNegativeInt = 0

    ALIASES: ClassVar[Mapping[str, str]] = {
        "question": "query",
        "q": "query",
        "place": "like",
        "lang": "language",
        "folder": "path",
        "max_tokens": "budget",
        "token_budget": "budget",
    }


def make_search_tool(find_related: RelatedFinder) -> Tool[CodeSearchArguments]:
    """Return the tool."""

    def run(arguments: CodeSearchArguments, context: ToolContext) -> ToolOutcome:
        wanted = arguments.offset + MAX_PAGE_HITS
        if arguments.like.strip():
            hits = find_related(*_locate(arguments.like, context), wanted)
        elif context.search is not None and arguments.query.strip():
            hits = context.search(build_query(arguments), wanted)
        else:
            raise ToolError("Say what to look for: `query`, or `like` with path:line.")
        page = format_page(hits, arguments.offset, arguments.budget, wanted)
        return make_success(page.text, {SHOWN_PATHS: page.paths})

    return Tool(
        "search",
        "Find code and documents of this repository by meaning and words, best first. Use it before"
        " grep or reading whole files. Gives path:lines with the text.",
        CodeSearchArguments,
        ToolPermission.READS,
        run,
    )


def build_query(arguments: CodeSearchArguments) -> str:
    """Return the query with its filters, as people type them."""
    filters = {"path": arguments.path, "lang": arguments.language}
    words = [f"{kind}:{_quote(value.strip())}" for kind, value in filters.items() if value.strip()]
    return " ".join([*words, arguments.query])


def _quote(value: str) -> str:
    if " " not in value and '"' not in value:
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _locate(text: str, context: ToolContext) -> tuple[str, int]:
    place = parse_place(text, context)
    return place.path, max(1, place.first_line)


class HitPage(NamedTuple):
    """The text of a page, and the files of the hits whose text it has."""

    text: str
    paths: Sequence[str] = ()


def format_page(hits: Sequence[Hit], offset: int, budget: int, wanted: int) -> HitPage:
    """Return the hits from ``offset`` on that fit, and how to get the others."""
    if not hits:
        return HitPage("Nothing in the index matches. Try other words, or grep for an exact text.")
    page = hits[offset:]
    if not page:
        return HitPage(f"There are only {len(hits)} hits.")
    limit = count_budget_chars(budget)
    shown = take_within((format_hit(hit, limit) for hit in page), limit)
    total = f"{len(hits)}{'+' if len(hits) == wanted else ''}"
    last = offset + len(shown)
    paths = list(dict.fromkeys(hit.chunk.path for hit in page[: len(shown)]))
    rest = page[len(shown) : len(shown) + MAX_PLACES_BEHIND]
    if not rest:
        return HitPage("\n\n".join([*shown, f"[{offset + 1}-{last} of {total}]"]), paths)
    places = "; ".join(map(_format_head, rest))
    more = f"[{offset + 1}-{last} of {total}; offset={last}: {places}]"
    return HitPage("\n\n".join([*shown, more]), paths)


def format_hit(hit: Hit, max_chars: int = _MAX_EXCERPT_CHARS) -> str:
    """Return a hit: path:lines, names, what is to be doubted, and the text."""
    head, text = _format_head(hit), hit.content.rstrip("\n")
    room = min(_MAX_EXCERPT_CHARS, max(0, max_chars - len(head)))
    if len(text) <= room:
        return f"{head}\n{text}"
    kept = text[:room].rpartition("\n")[0] or text[:room]
    return f"{head}\n{kept}\n[cut: read {_get_place(hit)}]"


def _format_head(hit: Hit) -> str:
    names = format_symbol_path(hit.chunk.symbols)
    doubt = f"[{hit.freshness}]" if hit.freshness != FRESH else ""
    return " ".join(filter(None, (str(_get_place(hit)), names, doubt)))


def _get_place(hit: Hit) -> CodePlace:
    return CodePlace(encode_path(hit.chunk.path), hit.chunk.begin_line + 1, hit.chunk.end_line)


# Clients give up on a call after a minute or more.
MAX_WAIT_SECONDS = 50.0


@dataclass(frozen=True, slots=True)
class IndexStatusArguments:
    """Whether to wait.

    wait: until everything is indexed, for up to 50 seconds
    """

    wait: bool = False


def make_status_tool(
    repository: IndexedRepository, report: ProgressCallback
) -> Tool[IndexStatusArguments]:
    """Return the tool."""

    def run(arguments: IndexStatusArguments, context: ToolContext) -> ToolOutcome:
        if arguments.wait:
            repository.wait_until_complete(context.cancel, MAX_WAIT_SECONDS, report)
        status, root = repository.get_status(), str(repository.root.folder)
        return make_success(
            indexed_repository.format_index_status(status, root, repository.describe_gaps()),
            indexed_repository.dump_index_status(status, root),
        )

    return Tool(
        name="index_status",
        description="How far the index of this repository is, and what it leaves out.",
        arguments=IndexStatusArguments,
        permission=ToolPermission.READS,
        run=run,
    )
