"""The tools of one repository, as an agent calls them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from codekernel.adapters.indexed_repository import IndexedRepository
from codekernel.adapters.mcp.toolset.ask import TurnStarter, make_ask_tool
from codekernel.adapters.mcp.toolset.calls import CALLS_TOOL, HISTORY_TOOL, SYMBOLS_TOOL
from codekernel.adapters.mcp.toolset.files import GREP_TOOL, READ_TOOL, make_files_tool
from codekernel.adapters.mcp.toolset.search import (
    MAX_ANSWER_CHARS,
    SHOWN_PATHS,
    make_search_tool,
    make_status_tool,
)
from codekernel.agent.registry import RawArguments, ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tool_policy import ToolLimits
from codekernel.agent.tools import index_search
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.progress import ProgressCallback, ignore_progress
from codekernel.errors import KernelError
from codekernel.storage.catalog.catalog import Catalog

MCP_LIMITS = ToolLimits(max_output_characters=MAX_ANSWER_CHARS)

# The tools that are listed: a model chooses worse among more.
TOOL_TITLES = {
    "search": "Search the code",
    "read": "Read a file",
    "files": "List files",
    "grep": "Find lines",
    "symbols": "Definitions",
    "calls": "Callers, callees, impact",
    "history": "Why lines are as they are",
    "ask": "Ask about the code",
}

# The tool that clients should show to their model at once, where they show others on demand.
FIRST_TOOL = "search"

# These tools depend on the index, so they say what it lacks; the first two use its vectors.
_SEMANTIC_TOOLS = frozenset({"search", "ask"})

_LEXICAL_TOOLS = frozenset({"files", "symbols", "calls", "call_chain"})


@dataclass(frozen=True, slots=True)
class McpTools:
    """The tools of one repository; any number of threads may call them at once."""

    repository: IndexedRepository
    start_turn: TurnStarter
    context: ToolContext
    # Called with the sizes of the files that a search names, and that of its answer.
    record_search: Callable[[Sequence[int], int], None] = lambda _files, _answer: None

    def make_registry(
        self,
        cancel: CancelToken | None = None,
        report: ProgressCallback = ignore_progress,
    ) -> ToolRegistry:
        """Return the tools for one call, which reports its progress.

        ``call_chain`` and ``index_status`` were listed before, and answer those who know them.
        """
        repository = self.repository
        find_related = partial(repository.find_related, cancel=cancel or CancelToken())
        return ToolRegistry(
            (
                make_search_tool(find_related),
                READ_TOOL,
                make_files_tool(self._list_paths),
                GREP_TOOL,
                SYMBOLS_TOOL,
                CALLS_TOOL,
                HISTORY_TOOL,
                make_ask_tool(self.start_turn, report),
                index_search.call_chain,
                make_status_tool(repository, report),
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
        outcome = self.make_registry(cancel, report).call(name, arguments, context)
        if paths := outcome.data.get(SHOWN_PATHS):
            self._record_search(paths, outcome.text)
        remark = self._describe_gaps(name)
        return replace(outcome, text=f"{outcome.text}\n\n[{remark}]") if remark else outcome

    def _list_paths(self) -> list[str]:
        self.repository.wait_for_lexical_index(self.context.cancel)
        return list(self.repository.index.query_catalog(Catalog.list_files))

    def _record_search(self, paths: Sequence[str], text: str) -> None:
        files = self.repository.index.query_catalog(lambda catalog: catalog.find_files(paths))
        self.record_search(
            [files[path].size for path in paths if path in files], len(text.encode())
        )

    def _describe_gaps(self, name: str) -> str:
        if name not in _SEMANTIC_TOOLS | _LEXICAL_TOOLS:
            return ""
        try:
            return self.repository.describe_gaps(semantic=name in _SEMANTIC_TOOLS)
        except KernelError:  # no index, as the tool's failure says
            return ""
