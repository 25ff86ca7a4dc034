"""The MCP tools search, read, symbols, call_chain, ask and index_status of one repository.

`ask` runs a conversation turn and reports its progress.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any

from codekernel.adapters import indexed_repository
from codekernel.adapters.indexed_repository import IndexedRepository, ProgressCallback
from codekernel.agent.registry import RawArguments, ToolRegistry
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolLimits, ToolPermission
from codekernel.agent.tools import index_search, read_file
from codekernel.agent.tools.file_access import load_text_file
from codekernel.chunking.outline import SourceLines, outline_text, split_lines
from codekernel.domain import turn_events as happened
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import detect_language
from codekernel.domain.turn import Citation, CitationState, TurnOutcome
from codekernel.domain.turn_events import ShownEvent, TurnDone
from codekernel.domain.untrusted_text import encode_path, resolve_encoded_path
from codekernel.errors import Cancelled, KernelError, WrongParam
from codekernel.protocol.tool_schema import describe_argument

if TYPE_CHECKING:  # imported with the first question
    from codekernel.conversation.turn import RunningQuestionTurn

# Begins a turn: question, name of the chat model if one is given, cancel token. Raises KernelError.
TurnStarter = Callable[
    [str, str | None, CancelToken], AbstractContextManager["RunningQuestionTurn"]
]


@dataclass(frozen=True, slots=True)
class AskArguments:
    """A question about the repository."""

    question: Annotated[
        str, describe_argument("what you want to know about this code, in plain words")
    ]
    model: Annotated[
        str | None,
        describe_argument("the name of a chat model in the settings; else the first one"),
    ] = None


def make_ask_tool(start_turn: TurnStarter, report: ProgressCallback) -> Tool[AskArguments]:
    """Return the tool ``ask``, which reports its progress."""

    def run(arguments: AskArguments, context: ToolContext) -> ToolOutcome:
        if not arguments.question.strip():
            raise ToolError("The question is empty: say what you want to know.")
        events: list[ShownEvent] = []
        steps = count(1)
        with start_turn(arguments.question, arguments.model, context.cancel) as turn, turn:
            for event in turn.stream_events():
                events.append(event)
                if step := _describe_step(event):
                    report(float(next(steps)), None, step)
        return _build_answer(events)

    return Tool(
        name="ask",
        description=(
            "Have codekernel's own chat model read the code and answer a question, with the lines"
            " it rests on. Slow and costs tokens: prefer search and read where you can read."
        ),
        arguments=AskArguments,
        permission=ToolPermission.READS,
        run=run,
    )


def _describe_step(event: ShownEvent) -> str:
    """Return what is reported of an event; nothing for some."""
    match event:
        case happened.RetrievalAnnotated(purpose):
            return purpose
        case happened.SearchIssued(query):
            return f"searching: {query}"
        case happened.ExcerptRetrieved(excerpt):
            return f"reading {excerpt.path}:{excerpt.begin_line + 1}"
        case happened.AnswerDelta():
            return "answering"
        case _:
            return ""


def _build_answer(events: Sequence[ShownEvent]) -> ToolOutcome:
    """Return the answer with its sources. Raises ToolError or Cancelled."""
    done = next((event for event in events if isinstance(event, TurnDone)), None)
    failures = [event.message for event in events if isinstance(event, happened.TurnFailed)]
    if done is None or done.outcome is TurnOutcome.STOPPED:
        raise Cancelled("the question was cancelled")
    if failures or done.outcome is not TurnOutcome.DONE:
        raise ToolError(failures[-1] if failures else "The model gave no answer.")
    texts = (event.text for event in events if isinstance(event, happened.AnswerDelta))
    text, sources = "".join(texts).strip(), "\n".join(_format_sources(done.citations))
    return make_success(f"{text}\n\nSources:\n{sources}" if sources else text)


def _format_sources(citations: Iterable[Citation]) -> Iterable[str]:
    unique = {(each.path, each.begin, each.end): each for each in citations}
    for each in unique.values():
        lines = str(each.begin) if each.begin == each.end else f"{each.begin}-{each.end}"
        state = each.holds.value
        if each.holds is CitationState.MOVED:
            state += f" to {each.now_begin}-{each.now_end}"
        elif each.reason:
            state += f": {each.reason}"
        yield f"- {each.path}:{lines} {state}"


MAX_SYMBOLS = 500

# Files that may define a name; the search ranks those that do first.
MAX_CANDIDATE_FILES = 30

MAX_LINE_CHARS = 160

# Every definition with a name counts, however small.
_MIN_DEFINITION_CHARS = 2


@dataclass(frozen=True, slots=True)
class SymbolsArguments:
    """A file or a name, or both."""

    path: Annotated[
        str, describe_argument("a file: its definitions are listed, nested as they are")
    ] = ""
    name: Annotated[
        str,
        describe_argument(
            "a name, or Class.name: where it is defined, in the repository or in `path`"
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition; lines count from 1 and include ``last_line``."""

    path: str
    kind: str
    names: tuple[str, ...]
    first_line: int
    last_line: int
    depth: int
    line: str


def _run_symbols(arguments: SymbolsArguments, context: ToolContext) -> ToolOutcome:
    path = resolve_encoded_path(context.root.folder, arguments.path.strip())
    name = arguments.name.strip()
    if not path and not name:
        raise ToolError("Say which file, or which name: `path`, `name`, or both.")
    paths = [path] if path else _find_candidate_paths(name, context)
    found = [symbol for each in paths for symbol in _list_symbols(each, context)]
    if name:
        found = [symbol for symbol in found if _is_named(symbol, name)]
    if not found:
        where = f" in {path}" if path else ""
        raise ToolError(
            f"Nothing called {name} is defined{where}. Names are matched exactly, but for capitals."
            if name
            else f"{path} defines nothing that has a name."
        )
    rows = [_format_symbol(symbol, indented=not name) for symbol in found[:MAX_SYMBOLS]]
    if len(found) > MAX_SYMBOLS:
        rows.append(f"[... {len(found) - MAX_SYMBOLS} more]")
    return make_success("\n".join(rows))


def _find_candidate_paths(name: str, context: ToolContext) -> list[str]:
    if context.search is None:
        raise ToolError("There is no index here: give a path.")
    last = _split_name(name)[-1]
    try:
        hits = context.search(f"symbol:{last} {last}", MAX_CANDIDATE_FILES)
    except WrongParam:  # nothing indexed has this name
        return []
    return list(dict.fromkeys(hit.chunk.path for hit in hits))


def _list_symbols(path: str, context: ToolContext) -> Iterator[Symbol]:
    """Return the definitions in the file as it is now, not as it was indexed."""
    lines = split_lines(load_text_file(context, path).text)
    names: list[tuple[str, ...]] = []
    depths: list[int] = []
    for found in outline_text(lines, detect_language(path), _MIN_DEFINITION_CHARS).definitions:
        is_inside = found.parent >= 0  # and that one was listed before
        names.append((*names[found.parent], *found.names) if is_inside else found.names)
        depths.append(depths[found.parent] + 1 if is_inside else 0)
        first = _find_line(lines, found.head)
        last = _find_line(lines, max(found.begin, found.end - 1))
        line = lines.stripped[first]
        yield Symbol(path, found.kind, names[-1], first + 1, last + 1, depths[-1], line)


def _find_line(lines: SourceLines, character: int) -> int:
    return min(bisect_right(lines.starts, character) - 1, lines.line_count - 1)


def _is_named(symbol: Symbol, name: str) -> bool:
    wanted = [part.lower() for part in _split_name(name)]
    return [part.lower() for part in symbol.names[-len(wanted) :]] == wanted


def _split_name(name: str) -> list[str]:
    plain = name.replace("::", ".").replace("#", ".").replace(">", ".").removesuffix("()")
    return [part for part in plain.split(".") if part] or [name]


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
    name="symbols",
    description=(
        "Where things are defined: the outline of a file (`path`), or the definitions of a name"
        " anywhere in the repository (`name`), with their lines."
    ),
    arguments=SymbolsArguments,
    permission=ToolPermission.READS,
    run=_run_symbols,
)


# Clients give up on a call after a minute or more.
MAX_WAIT_SECONDS = 50.0

# More would fill the context of a model; longer files are read in parts.
MCP_LIMITS = ToolLimits(max_output_characters=100_000)

TOOL_TITLES = {
    "search": "Search the code",
    "read": "Read a file",
    "symbols": "Definitions",
    "call_chain": "Callers and callees",
    "ask": "Ask about the code",
    "index_status": "State of the index",
}

# These tools depend on the index, so they say what it lacks; the first two use its vectors.
_SEMANTIC_TOOLS = frozenset({"search", "ask"})

_LEXICAL_TOOLS = frozenset({"symbols", "call_chain"})

READ_TOOL: Tool[Any] = replace(
    read_file.read_file,
    name="read",
    description=(
        "Read a text file of the repository as it is now: all of it, or the lines from start_line"
        " to end_line, counted from 1. Paths are relative to the repository."
    ),
)

SEARCH_TOOL: Tool[Any] = replace(
    index_search.search,
    description=(
        "Find code and documents of this repository, best first, by words and by meaning together,"
        ' in any human language: a question, a name, an error message, a stack trace, an "exact'
        ' text" in quotes, /a regular expression/. Gives path:lines and the text of each place.'
    ),
)


@dataclass(frozen=True, slots=True)
class IndexStatusArguments:
    """Whether to wait."""

    wait: Annotated[
        bool,
        describe_argument(
            "wait until everything is indexed, for up to 50 seconds; progress is told"
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class McpTools:
    """The tools of one repository; any number of threads may call them at once."""

    repository: IndexedRepository
    start_turn: TurnStarter
    context: ToolContext

    def make_registry(
        self, report: ProgressCallback = indexed_repository.ignore_progress
    ) -> ToolRegistry:
        """Return the tools for one call, which reports its progress."""
        return ToolRegistry(
            (
                SEARCH_TOOL,
                READ_TOOL,
                SYMBOLS_TOOL,
                index_search.call_chain,
                make_ask_tool(self.start_turn, report),
                _make_status_tool(self.repository, report),
            )
        )

    def call(
        self, name: str, arguments: RawArguments, cancel: CancelToken, report: ProgressCallback
    ) -> ToolOutcome:
        """Call a tool; every failure is an outcome, except that Cancelled is raised."""
        context = replace(
            self.context,
            cancel=cancel,
            search=lambda query, limit: self.repository.search(query, limit, cancel, report=report),
            call_chain=partial(self.repository.find_calls, report=report),
        )
        outcome = self.make_registry(report).call(name, arguments, context)
        remark = self._describe_gaps(name)
        return replace(outcome, text=f"{outcome.text}\n\n[{remark}]") if remark else outcome

    def _describe_gaps(self, name: str) -> str:
        if name not in _SEMANTIC_TOOLS | _LEXICAL_TOOLS:
            return ""
        try:
            return self.repository.describe_gaps(semantic=name in _SEMANTIC_TOOLS)
        except KernelError:  # no index, as the tool's failure says
            return ""


def _make_status_tool(
    repository: IndexedRepository, report: ProgressCallback
) -> Tool[IndexStatusArguments]:
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
