"""Definitions in files as they are now, and where a name is defined."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from codekernel.agent.code_queries.context import CodeContext
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.tools.file_access import load_text_file
from codekernel.chunking.outline import SourceLines, outline_text, split_lines
from codekernel.domain.index import UNKNOWN_LANGUAGE, detect_language
from codekernel.errors import WrongParam
from codekernel.search.filters import MAX_SUGGESTIONS, NEAR_MARK

# Files that may define a name; the search ranks those that do first.
MAX_CANDIDATE_FILES = 30

# The lines of a place, and a name that needs no quotation marks in a filter.
_PLACE_END = re.compile(r":L?\d+(?:-L?\d+)?$")
_PLAIN_NAME = re.compile(r"[\w.$@+-]+")

# Every definition with a name counts, however small.
_MIN_DEFINITION_CHARS = 2


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


def find_definitions(name: str, context: CodeContext, path: str = "") -> list[Symbol]:
    """Return the definitions of a name, in a file or anywhere. Raises ToolError."""
    paths = [path] if path else _find_candidate_paths(name, context)
    found = (symbol for each in paths for symbol in list_symbols(each, context))
    return [symbol for symbol in found if _is_named(symbol, name)]


def suggest_similar(text: str, context: CodeContext) -> str:
    """Return a question about what is called like a name or a file; empty if nothing is."""
    file = _PLACE_END.sub("", text.replace("\\", "/").rpartition("/")[2])
    is_file = file != text or detect_language(file) != UNKNOWN_LANGUAGE
    value = file if is_file else _split_name(text)[-1]
    if context.search is None or not _PLAIN_NAME.fullmatch(value):
        return ""
    try:
        hits = context.search(f"{'file' if is_file else 'symbol'}:{value}", MAX_CANDIDATE_FILES)
    except WrongParam as error:  # says what is near
        found = str(error).partition(NEAR_MARK)[2].split(", ")
    else:
        found = [hit.chunk.path for hit in hits]
    near = list(dict.fromkeys(filter(None, found)))[:MAX_SUGGESTIONS]
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _find_candidate_paths(name: str, context: CodeContext) -> list[str]:
    if context.search is None:
        raise ToolError("There is no index here: give a path.")
    last = _split_name(name)[-1]
    try:
        hits = context.search(f"symbol:{last} {last}", MAX_CANDIDATE_FILES)
    except WrongParam:  # nothing indexed has this name
        return []
    return list(dict.fromkeys(hit.chunk.path for hit in hits))


def list_symbols(path: str, context: CodeContext) -> Iterator[Symbol]:
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
