"""The tools ``files``, ``read`` and ``grep``: the tree, a file with line numbers, lines by text."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import groupby, islice
from operator import attrgetter
from typing import ClassVar

from codekernel.adapters.mcp.toolset.search import MAX_ANSWER_CHARS, cut_lines
from codekernel.agent.code_queries import parse_place, suggest_similar
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import load_text_file, path_exists
from codekernel.agent.tools.grep import LineMatch, LineSearch
from codekernel.agent.workspace.text_file import CRLF, LF
from codekernel.domain.untrusted_text import encode_path, strip_scheme
from codekernel.protocol.tool_schema import NonNegativeInt
from codekernel.search.filters import is_path_match

# Rows of one answer, some 2,000 tokens.
MAX_ROWS = 200

_INDENT = " "


@dataclass(frozen=True, slots=True)
class FilesArguments:
    """Which files.

    path: only below this folder
    glob: list files that match, such as **/*_test.go; else the tree
    """

    path: str = ""
    glob: str = ""
    offset: NonNegativeInt = 0

    ALIASES: ClassVar[Mapping[str, str]] = {"folder": "path", "pattern": "glob"}


def make_files_tool(list_paths: Callable[[], Sequence[str]]) -> Tool[FilesArguments]:
    """Return the tool; ``list_paths`` returns the indexed files."""

    def run(arguments: FilesArguments, context: ToolContext) -> ToolOutcome:
        paths = sorted(list_paths())
        folder = arguments.path.strip().strip("/")
        if folder not in {"", "."}:
            folder = parse_place(folder, context).path
            below = "" if folder == "." else f"{folder}/"
            paths = [path for path in paths if path.startswith(below)]
        if arguments.glob.strip():
            glob = arguments.glob.strip()
            paths = [path for path in paths if is_path_match(glob, path)]
        if not paths:
            raise ToolError("No indexed file is there. Ignored and binary files are not listed.")
        rows = [encode_path(path) for path in paths] if arguments.glob.strip() else draw_tree(paths)
        return make_success(_format_rows(rows, arguments.offset, len(paths)))

    return Tool(
        "files",
        "List the files of the repository: as a tree, or those that match a glob.",
        FilesArguments,
        ToolPermission.READS,
        run,
    )


def _format_rows(rows: Sequence[str], offset: int, count: int) -> str:
    page = rows[offset : offset + MAX_ROWS]
    last = offset + len(page)
    more = f"; more: offset={last}" if last < len(rows) else ""
    return "\n".join([*page, f"[{count} files{more}]"])


def draw_tree(paths: Sequence[str], max_rows: int = MAX_ROWS) -> list[str]:
    """Return the tree, as deep as it fits; a folder that is not opened says how many files it has.

    Folders that hold nothing but one folder are one row.
    """
    depth, rows = 1, _draw(paths, 1)
    while len(deeper := _draw(paths, depth + 1)) <= max_rows and deeper != rows:
        depth, rows = depth + 1, deeper
    return rows


def _draw(paths: Sequence[str], depth: int, prefix: str = "", level: int = 0) -> list[str]:
    children: dict[str, list[str]] = {}
    for path in paths:
        name, slash, _ = path[len(prefix) :].partition("/")
        children.setdefault(name + slash, []).append(path)
    rows = []
    for name, inside in children.items():
        indent = _INDENT * level
        if not name.endswith("/"):
            rows.append(indent + encode_path(name))
            continue
        joined, below = name, prefix + name
        while len(heads := {path[len(below) :].partition("/")[0] for path in inside}) == 1:
            (head,) = heads
            if not all(path.startswith(f"{below}{head}/") for path in inside):
                break
            joined, below = f"{joined}{head}/", f"{below}{head}/"
        if depth > 1:
            rows.append(indent + encode_path(joined))
            rows += _draw(inside, depth - 1, below, level + 1)
        else:
            rows.append(f"{indent}{encode_path(joined)} {len(inside)} files")
    return rows


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


# Of one answer.
MAX_LINES = 100

_MAX_LINE_CHARS = 200

_WILDCARDS = frozenset("*?")


@dataclass(frozen=True, slots=True)
class GrepArguments:
    """What to look for, and where.

    pattern: a text as it stands, or with regex a regular expression
    path: a file, folder or glob
    """

    pattern: str
    path: str = ""
    regex: bool = False
    ignore_case: bool = False
    offset: NonNegativeInt = 0

    ALIASES: ClassVar[Mapping[str, str]] = {"query": "pattern", "glob": "path", "include": "path"}


def run_grep(arguments: GrepArguments, context: ToolContext) -> ToolOutcome:
    """Return the lines by file, and how to get the others."""
    search = LineSearch(
        context, arguments.pattern, is_regex=arguments.regex, ignore_case=arguments.ignore_case
    )
    wanted = arguments.offset + MAX_LINES
    matches = _search_place(search, strip_scheme(arguments.path) or ".", context)
    found = list(islice(matches, wanted + 1))
    page = found[arguments.offset : wanted]
    rows = list(_format_matches(page))
    if len(found) > wanted:
        rows.append(f"[lines {arguments.offset + 1}-{wanted} of more: offset={wanted}]")
    if not search.is_complete:
        seconds = context.limits.timeout_seconds
        rows.append(f"[stopped after {seconds:g} s: not everything was searched; name a folder]")
    return make_success(
        "\n".join(rows) or "No line matches. Ignored and binary files are left out."
    )


def _search_place(search: LineSearch, path: str, context: ToolContext) -> Iterator[LineMatch]:
    if _WILDCARDS.intersection(path):
        with context.root.reach(".") as place:
            yield from search.search_folder(place, lambda each: is_path_match(path, each))
        return
    with context.root.reach(path) as place:
        if place.is_folder:
            yield from search.search_folder(place)
        elif place.status is not None:
            yield from search.search_file(place, path)
        else:
            raise ToolError(f"There is no {path}.")


def _format_matches(matches: Iterable[LineMatch]) -> Iterator[str]:
    for path, lines in groupby(matches, attrgetter("path")):
        yield path
        for each in lines:
            text = each.text.strip()
            cut = f"{text[:_MAX_LINE_CHARS]}..." if len(text) > _MAX_LINE_CHARS else text
            yield f"{each.line}: {cut}"


GREP_TOOL = Tool(
    "grep",
    "Find lines by exact text or regular expression in files as they are now.",
    GrepArguments,
    ToolPermission.READS,
    run_grep,
)
