"""The tool ``read``: a file as it is now, with line numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import ClassVar

from codekernel.adapters.mcp.toolset.budget import MAX_ANSWER_CHARS, cut_lines
from codekernel.agent.code_queries import parse_place, suggest_similar
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import load_text_file, path_exists
from codekernel.agent.workspace.text_edit import CRLF, LF
from codekernel.domain.untrusted_text import encode_path
from codekernel.protocol.tool_schema import NonNegativeInt

_GUTTER = "\t"


@dataclass(frozen=True, slots=True)
class ReadLinesArguments:
    """Which file, and which lines of it.

    path: the file, or path:first-last
    """

    path: str
    start_line: NonNegativeInt = 0
    end_line: NonNegativeInt = 0

    ALIASES: ClassVar[Mapping[str, str]] = {
        "file": "path",
        "file_path": "path",
        "relative_path": "path",
        "place": "path",
    }


def run_read(arguments: ReadLinesArguments, context: ToolContext) -> ToolOutcome:
    """Return the lines, as many as fit."""
    place = parse_place(arguments.path, context)
    if not path_exists(context, place.path):
        similar = suggest_similar(place.path, context)
        raise ToolError(f"There is no file {encode_path(place.path)}.{similar}")
    text = load_text_file(context, place.path).text.replace(CRLF, LF)
    lines = [line.removesuffix(LF) for line in StringIO(text)]
    first = max(1, arguments.start_line or place.first_line)
    last = min(arguments.end_line or place.last_line or len(lines), len(lines))
    if not lines:
        return make_success(f"[{encode_path(place.path)} is empty]")
    if first > len(lines):
        raise ToolError(f"{encode_path(place.path)} has only {len(lines)} lines.")
    rows = [
        f"{number}{_GUTTER}{line}"
        for number, line in enumerate(lines[first - 1 : max(first, last)], start=first)
    ]
    kept = cut_lines(rows, MAX_ANSWER_CHARS)
    shown = [row[:MAX_ANSWER_CHARS] for row in rows[:kept]]
    is_all = first == 1 and kept == len(lines)
    if not is_all:
        more = f"; more: start_line={first + kept}" if kept < len(rows) else ""
        shown.append(f"[lines {first}-{first + kept - 1} of {len(lines)}{more}]")
    return make_success("\n".join(shown))


READ_TOOL = Tool(
    "read",
    "Read a text file as it is now, all or some lines, with line numbers.",
    ReadLinesArguments,
    ToolPermission.READS,
    run_read,
)
