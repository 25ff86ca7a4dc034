"""The MCP tools search, read, symbols, call_chain, ask and index_status of one repository.

`ask` runs a conversation turn and reports its progress.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from codekernel.adapters.indexed_repository import (
    IndexedRepository,
    ProgressCallback,
    dump_index_status,
    format_index_status,
    ignore_progress,
)
from codekernel.adapters.mcp.symbols_tool import SYMBOLS_TOOL
from codekernel.agent.registry import RawArguments, ToolRegistry
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolLimits, ToolPermission
from codekernel.agent.tools import index_search, read_file
from codekernel.domain.call_graph import CallChainQuery, CallChainResult
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit
from codekernel.domain.turn import Citation, CitationState, TurnOutcome
from codekernel.domain.turn_events import (
    AnswerDelta,
    ExcerptRetrieved,
    RetrievalAnnotated,
    SearchIssued,
    ShownEvent,
    TurnDone,
    TurnFailed,
)
from codekernel.errors import Cancelled, KernelError
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
        progress = _AskProgress(report)
        with start_turn(arguments.question, arguments.model, context.cancel) as turn, turn:
            for event in turn.stream_events():
                progress.handle_event(event)
        return progress.build_outcome()

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


class _AskProgress:
    """Collects the events of a turn and reports them as progress."""

    def __init__(self, report: ProgressCallback) -> None:
        self._report = report
        self._report_count = 0
        self._answer: list[str] = []
        self._failure = ""
        self._done: TurnDone | None = None

    def handle_event(self, event: ShownEvent) -> None:
        """Collect an event and report it."""
        match event:
            case RetrievalAnnotated(purpose):
                self._report_step(purpose)
            case SearchIssued(query):
                self._report_step(f"searching: {query}")
            case ExcerptRetrieved(excerpt):
                self._report_step(f"reading {excerpt.path}:{excerpt.begin_line + 1}")
            case AnswerDelta(text):
                self._answer.append(text)
                self._report_step("answering")
            case TurnFailed(_, message):
                self._failure = message
            case TurnDone():
                self._done = event

    def build_outcome(self) -> ToolOutcome:
        """Return the answer with its sources. Raises ToolError or Cancelled."""
        if self._done is None or self._done.outcome is TurnOutcome.STOPPED:
            raise Cancelled("the question was cancelled")
        if self._failure or self._done.outcome is not TurnOutcome.DONE:
            raise ToolError(self._failure or "The model gave no answer.")
        text = "".join(self._answer).strip()
        sources = "\n".join(_format_sources(self._done.citations))
        return make_success(f"{text}\n\nSources:\n{sources}" if sources else text)

    def _report_step(self, message: str) -> None:
        self._report_count += 1
        self._report(float(self._report_count), None, message)


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

    def make_registry(self, report: ProgressCallback = ignore_progress) -> ToolRegistry:
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
        context = self._make_context(cancel, report)
        outcome = self.make_registry(report).call(name, arguments, context)
        remark = self._describe_gaps(name)
        return replace(outcome, text=f"{outcome.text}\n\n[{remark}]") if remark else outcome

    def _make_context(self, cancel: CancelToken, report: ProgressCallback) -> ToolContext:
        repository = self.repository

        def search(query: str, limit: int) -> list[Hit]:
            repository.wait_for_lexical_index(cancel, report)
            return repository.search(query, limit, cancel)

        def calls(question: CallChainQuery, until: CancelToken, seconds: float) -> CallChainResult:
            repository.wait_for_lexical_index(cancel, report)
            return repository.find_calls(question, until, seconds)

        return replace(self.context, cancel=cancel, search=search, call_chain=calls)

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
            format_index_status(status, root, repository.describe_gaps()),
            dump_index_status(status, root),
        )

    return Tool(
        name="index_status",
        description="How far the index of this repository is, and what it leaves out.",
        arguments=IndexStatusArguments,
        permission=ToolPermission.READS,
        run=run,
    )
