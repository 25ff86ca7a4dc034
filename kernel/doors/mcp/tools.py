"""What an agent may call: six tools, one of which waits, one of which costs money."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from kernel.agent.arguments import Given
from kernel.agent.context import ToolContext
from kernel.agent.limits import Limits
from kernel.agent.registry import Registry
from kernel.agent.tool import Danger, Outcome, Tool, done
from kernel.agent.tools import call_chain, read_file, search
from kernel.domain.call_chain import ChainAnswer, ChainQuestion
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.doors.mcp.asking import Begin, ask_tool
from kernel.doors.mcp.reaching import NOBODY_LISTENS, Report, described, shown
from kernel.doors.mcp.repository import Repository
from kernel.doors.mcp.symbols import SYMBOLS
from kernel.errors import KernelError
from kernel.protocol.tool_arguments import about

# Clients give up on a call after a minute or more.
LONGEST_WAIT_SECONDS = 50.0
# More would fill the memory of a model; longer files are read in windows.
LIMITS = Limits(output_characters=100_000)
TITLES = {
    "search": "Search the code",
    "read": "Read a file",
    "symbols": "Definitions",
    "call_chain": "Callers and callees",
    "ask": "Ask about the code",
    "index_status": "State of the index",
}
# What these say depends on the index, so they say what it lacks; the first two use its vectors.
_BY_MEANING = frozenset({"search", "ask"})
_BY_NAME = frozenset({"symbols", "call_chain"})

READ: Tool[Any] = replace(
    read_file.TOOL,
    name="read",
    purpose=(
        "Read a text file of the repository as it is now: all of it, or the lines from start_line"
        " to end_line, counted from 1. Paths are relative to the repository."
    ),
)
SEARCH: Tool[Any] = replace(
    search.TOOL,
    purpose=(
        "Find code and documents of this repository, best first, by words and by meaning together,"
        ' in any human language: a question, a name, an error message, a stack trace, an "exact'
        ' text" in quotes, /a regular expression/. Gives path:lines and the text of each place.'
    ),
)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Whether to wait."""

    wait: Annotated[
        bool, about("wait until everything is indexed, for up to 50 seconds; progress is told")
    ] = False


def tools_of(repository: Repository, begin: Begin, report: Report = NOBODY_LISTENS) -> Registry:
    """The tools, for one call; its progress is told to ``report``."""
    return Registry(
        (
            SEARCH,
            READ,
            SYMBOLS,
            call_chain.TOOL,
            ask_tool(begin, report),
            _status_tool(repository, report),
        )
    )


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of one repository; any number of threads may call them at once."""

    repository: Repository
    begin: Begin
    context: ToolContext

    def registry(self) -> Registry:
        """What there is, for a list."""
        return tools_of(self.repository, self.begin)

    def call(self, name: str, given: Given, cancel: CancelToken, report: Report) -> Outcome:
        """Do it; every failure is an Outcome. Raises Cancelled alone."""
        tools = tools_of(self.repository, self.begin, report)
        outcome = tools.call(name, given, self._context(cancel, report))
        remark = self._remark(name)
        return replace(outcome, text=f"{outcome.text}\n\n[{remark}]") if remark else outcome

    def _context(self, cancel: CancelToken, report: Report) -> ToolContext:
        repository = self.repository

        def search(query: str, limit: int) -> list[Hit]:
            repository.wait_for_words(cancel, report)
            return repository.found(query, limit, cancel)

        def calls(question: ChainQuestion, until: CancelToken, seconds: float) -> ChainAnswer:
            repository.wait_for_words(cancel, report)
            return repository.calls(question, until, seconds)

        return replace(self.context, cancel=cancel, search=search, calls=calls)

    def _remark(self, name: str) -> str:
        if name not in _BY_MEANING | _BY_NAME:
            return ""
        try:
            return self.repository.remark(meaning=name in _BY_MEANING)
        except KernelError:  # no index, as the tool has said
            return ""


def _status_tool(repository: Repository, report: Report) -> Tool[IndexStatus]:
    def run(arguments: IndexStatus, context: ToolContext) -> Outcome:
        if arguments.wait:
            repository.wait_for_all(context.cancel, LONGEST_WAIT_SECONDS, report)
        status, root = repository.status(), str(repository.root.folder)
        return done(shown(status, root, repository.remark()), described(status, root))

    return Tool(
        name="index_status",
        purpose="How far the index of this repository is, and what it leaves out.",
        arguments=IndexStatus,
        danger=Danger.READS,
        run=run,
    )
