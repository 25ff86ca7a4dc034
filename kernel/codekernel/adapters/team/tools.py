"""The tools of MCP that a team kernel offers: each sees what the person may read."""

from dataclasses import dataclass
from typing import Annotated, Any

from codekernel.adapters.mcp.methods import compact_schema
from codekernel.adapters.mcp.protocol import INVALID_PARAMS, McpError, Message, Params
from codekernel.adapters.mcp.server import McpMethod
from codekernel.adapters.mcp.toolset.files import MAX_ROWS, draw_tree
from codekernel.adapters.mcp.toolset.search import (
    DEFAULT_BUDGET_TOKENS,
    MAX_BUDGET_TOKENS,
    MIN_BUDGET_TOKENS,
)
from codekernel.adapters.team.queries import TeamQueries
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolPermission
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.progress import ProgressCallback
from codekernel.domain.untrusted_text import encode_path
from codekernel.masking.masker import mask_secrets
from codekernel.protocol.tool_schema import NonNegativeInt, limit_number


@dataclass(frozen=True, slots=True)
class TeamSearchArguments:
    """What to look for.

    query: plain words, a name, an error message, "exact text" or /regex/; path: and lang: filter
    budget: tokens of the answer
    offset: hits to skip
    """

    query: str
    budget: Annotated[int, limit_number(MIN_BUDGET_TOKENS, MAX_BUDGET_TOKENS)] = (
        DEFAULT_BUDGET_TOKENS
    )
    offset: NonNegativeInt = 0


@dataclass(frozen=True, slots=True)
class TeamFilesArguments:
    """Which files.

    glob: list files that match, such as src/**/*.py; else the tree
    """

    glob: str = ""


@dataclass(frozen=True, slots=True)
class TeamReadArguments:
    """Which file, and which lines of it.

    path: the file, as search shows it
    """

    path: str
    start_line: NonNegativeInt = 0
    end_line: NonNegativeInt = 0


@dataclass(frozen=True, slots=True)
class TeamGrepArguments:
    """What to look for, and where.

    pattern: a text as it stands, or with regex a regular expression
    path: a folder or glob
    """

    pattern: str
    path: str = ""
    regex: bool = False
    ignore_case: bool = False


def make_team_tools(queries: TeamQueries) -> ToolRegistry:
    """Return the tools of one person for one repository."""

    def search(asked: TeamSearchArguments, context: ToolContext) -> ToolOutcome:
        page = queries.search_for_model(asked.query, asked.offset, asked.budget, context.cancel)
        return make_success(page)

    def files(asked: TeamFilesArguments, _: ToolContext) -> ToolOutcome:
        paths = queries.list_paths(asked.glob)
        rows = [encode_path(path) for path in paths] if asked.glob else draw_tree(paths)
        return make_success("\n".join([*rows[:MAX_ROWS], f"[{len(paths)} files]"]))

    def read(asked: TeamReadArguments, _: ToolContext) -> ToolOutcome:
        first = max(1, asked.start_line)
        lines, count = queries.read_lines(asked.path, first, asked.end_line)
        rows = [f"{number}\t{line}" for number, line in enumerate(lines, start=first)]
        return make_success("\n".join([*rows, f"[lines of {count}]"]))

    def grep(asked: TeamGrepArguments, context: ToolContext) -> ToolOutcome:
        found, is_complete = queries.grep(
            asked.pattern,
            glob=asked.path,
            is_regex=asked.regex,
            ignore_case=asked.ignore_case,
            cancel=context.cancel,
        )
        rows = [
            f"{encode_path(each.path)}:{each.line}: {each.text.strip()[:200]}" for each in found
        ]
        more = [] if is_complete else ["[there is more: name a folder]"]
        return make_success("\n".join([*rows, *more]) or "No line matches.")

    reads = ToolPermission.READS
    return ToolRegistry(
        (
            Tool("search", "Find code by meaning and words.", TeamSearchArguments, reads, search),
            Tool("files", "List the files you may read.", TeamFilesArguments, reads, files),
            Tool("read", "Read a file, with line numbers.", TeamReadArguments, reads, read),
            Tool("grep", "Find lines by text or regex.", TeamGrepArguments, reads, grep),
        )
    )


def make_team_methods(queries: TeamQueries) -> dict[str, McpMethod]:
    """Return the methods of MCP for one request."""
    registry = make_team_tools(queries)

    def list_tools(*_: object) -> Message:
        tools: list[dict[str, Any]] = [
            {
                "name": spec.name,
                "description": spec.description,
                "inputSchema": compact_schema(spec.parameters),
                "annotations": {"readOnlyHint": True, "openWorldHint": False},
            }
            for spec in registry.build_specs()
        ]
        return {"tools": tools}

    def call_tool(params: Params, cancel: CancelToken, _report: ProgressCallback) -> Message:
        name = params["name"]
        if name not in registry:
            raise McpError(INVALID_PARAMS, f"There is no tool {str(name)[:80]}.")
        context = queries.repository.context.with_cancel(cancel)
        outcome = registry.call(name, params.get("arguments") or {}, context)
        text = mask_secrets(outcome.text).text
        return {"content": [{"type": "text", "text": text}], "isError": not outcome.success}

    return {"tools/list": list_tools, "tools/call": call_tool}
