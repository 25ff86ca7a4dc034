"""The tool ``files``: the tree of the repository, or its files by a glob."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from codekernel.agent.code_queries import parse_place
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.domain.untrusted_text import encode_path
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
