"""The tool ``history``: the commits behind a file, lines or a definition, with their reasons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from codekernel.agent.code_queries import CodePlace, find_history
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolPermission
from codekernel.domain.untrusted_text import encode_path
from codekernel.search.line_history import LineCommit, LineHistory

_SHORT_ID = 9


@dataclass(frozen=True, slots=True)
class HistoryArguments:
    """Of what.

    place: path, path:first-last, or the name of a definition
    """

    place: str

    ALIASES: ClassVar[Mapping[str, str]] = {"path": "place", "symbol": "place", "name": "place"}


def run_history(arguments: HistoryArguments, context: ToolContext) -> ToolOutcome:
    """Return the commits, newest first."""
    place, history = find_history(arguments.place, context)
    return make_success("\n".join(format_history(place, history)))


def format_history(place: CodePlace, history: LineHistory) -> Iterator[str]:
    """Return the rows of an answer."""
    named = CodePlace(encode_path(place.path), place.first_line, place.last_line)
    yield f"{named}: {len(history.commits)}{'+' if history.has_more else ''} commits"
    for commit in history.commits:
        yield _format_commit(commit)
        yield from (f"  {line}" for line in commit.body.splitlines() if line.strip())
    remarks = [*history.remarks]
    if history.uncommitted:
        remarks.append(f"not committed: lines {format_line_ranges(history.uncommitted)}")
    yield from (f"[{remark}]" for remark in remarks)


def _format_commit(commit: LineCommit) -> str:
    lines = f" (lines {format_line_ranges(commit.lines)})" if commit.lines else ""
    head = f"{commit.id[:_SHORT_ID]} {commit.date} {commit.author}"
    return f"{head}: {commit.subject}{lines}"


def format_line_ranges(lines: Sequence[int]) -> str:
    """Return ``4-6,9`` for 4, 5, 6, 9."""
    ranges = []
    for _, group in groupby(enumerate(sorted(lines)), lambda pair: pair[1] - pair[0]):
        numbers = [line for _, line in group]
        first, last = numbers[0], numbers[-1]
        ranges.append(str(first) if first == last else f"{first}-{last}")
    return ",".join(ranges)


HISTORY_TOOL = Tool(
    "history",
    "Why code is as it is: the commits that made a file, lines or a definition, from git.",
    HistoryArguments,
    ToolPermission.READS,
    run_history,
)
