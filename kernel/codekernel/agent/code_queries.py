"""Questions about places in the code, as agents and people ask them.

What a question needs of a repository, places as they are written, definitions in files as they are
now, who calls what is at a place, and the commits behind it.
"""

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Protocol

from codekernel.agent.tool import SearchFunction
from codekernel.agent.tool_policy import ToolError, ToolLimits
from codekernel.agent.tools.file_access import load_text_file, path_exists
from codekernel.agent.tools.index_search import explain_no_call_chain
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import FileStates
from codekernel.chunking.outline import SourceLines, outline_text, split_lines
from codekernel.domain.call_graph import (
    CallChainQuery,
    CallChainResult,
    CallDirection,
    QueryCallChain,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import UNKNOWN_LANGUAGE, detect_language
from codekernel.domain.untrusted_text import strip_scheme
from codekernel.errors import WrongParam
from codekernel.search.filters import MAX_SUGGESTIONS, NEAR_MARK
from codekernel.search.line_history import DEFAULT_COMMITS, LineHistory, read_line_history


class CodeContext(Protocol):
    """A repository that can be read, searched and asked for calls."""

    @property
    def root(self) -> WorkspaceRoot:
        """The folder of the repository."""

    @property
    def search(self) -> SearchFunction | None:
        """The ranked search, if there is an index."""

    @property
    def call_chain(self) -> QueryCallChain | None:
        """The call graph, if there is an index."""

    @property
    def limits(self) -> ToolLimits:
        """Seconds and sizes."""

    @property
    def cancel(self) -> CancelToken:
        """Ends the question."""

    @property
    def file_states(self) -> FileStates:
        """Which files were read."""


@dataclass(frozen=True, slots=True)
class RepositoryContext:
    """The context of a question that is no tool call."""

    root: WorkspaceRoot
    search: SearchFunction
    call_chain: QueryCallChain
    cancel: CancelToken
    limits: ToolLimits = field(default_factory=ToolLimits)
    file_states: FileStates = field(default_factory=FileStates)


_LINES = re.compile(r"(?P<path>.+?):(?:L)?(?P<first>\d{1,9})(?:(?:-|:|\.\.)L?(?P<last>\d{1,9}))?$")
# Not of C++'s Class::name, which has no file in front.
_NAME_IN_FILE = re.compile(r"(?P<path>.*?[^:]):(?P<name>[^\W\d][^\s/\\]*)$")

# The lines of a place, and a name that needs no quotation marks in a filter.
_PLACE_END = re.compile(r":L?\d+(?:-L?\d+)?$")
_PLAIN_NAME = re.compile(r"[\w.$@+-]+")


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A file and lines of it, counted from 1 and included; 0 if none were given."""

    path: str
    first_line: int = 0
    last_line: int = 0

    def __str__(self) -> str:
        if not self.first_line:
            return self.path
        is_one = self.first_line == self.last_line
        return f"{self.path}:{self.first_line}" + ("" if is_one else f"-{self.last_line}")


def parse_place(text: str, context: CodeContext) -> CodePlace:
    """Return the place, its path relative to the repository.

    ``path:name`` is the first definition of that name. Raises ToolError if it is outside, or if
    nothing in the file has the name.
    """
    path, lines = strip_scheme(text), None
    # A colon is part of a name where it may be, and never on Windows.
    if os.name == "nt" or not path_exists(context, path):
        if found := _LINES.match(path):
            path = found["path"]
            lines = (int(found["first"]), int(found["last"] or found["first"]))
        elif (named := _NAME_IN_FILE.match(path)) and path_exists(context, named["path"]):
            return _find_in_file(named["path"], named["name"], context)
    relative = context.root.format_path(context.root.resolve(path))
    if lines is None:
        return CodePlace(relative)
    first, last = max(1, min(lines)), max(1, *lines)
    return CodePlace(relative, first, last)


def _find_in_file(path: str, name: str, context: CodeContext) -> CodePlace:
    relative = context.root.format_path(context.root.resolve(path))
    found = find_definitions(name, context, relative)
    if not found:
        known = {each.names[-1] for each in list_symbols(relative, context)}
        near = " or ".join(get_close_matches(name, known, MAX_SUGGESTIONS))
        raise ToolError(
            f"{relative} defines no {name}." + (f" Did you mean {near}?" if near else "")
        )
    return CodePlace(relative, found[0].first_line, found[0].last_line)


# Files that may define a name; the search ranks those that do first.
MAX_CANDIDATE_FILES = 30

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


# Definitions of a place that are followed at once.
MAX_FOLLOWED_DEFINITIONS = 30


def ask_calls(
    text: str, direction: CallDirection, depth: int, context: CodeContext
) -> tuple[list[CallChainResult], int]:
    """Follow the calls of all definitions that are meant.

    Returns how many definitions of the place were not followed, too. Raises ToolError.
    """
    if context.call_chain is None or not text.strip():
        raise ToolError("Say of what: a name, Class.name, path:line or path.")
    names, path = list_meant_names(text.strip(), context)
    answers = [
        context.call_chain(
            CallChainQuery(name, direction, depth, path=path),
            context.cancel,
            context.limits.timeout_seconds,
        )
        for name in names[:MAX_FOLLOWED_DEFINITIONS]
    ]
    found = [answer for answer in answers if answer.chains]
    if not found:
        raise ToolError(explain_no_call_chain(answers[0]) + suggest_similar(text, context))
    return found, max(0, len(names) - MAX_FOLLOWED_DEFINITIONS)


def list_meant_names(text: str, context: CodeContext) -> tuple[list[str], str]:
    """Return the name, or the names of the definitions at a place and its path.

    Raises ToolError.
    """
    if not is_in_repository(text, context):
        return [text], ""
    place = parse_place(text, context)
    symbols = list(list_symbols(place.path, context))
    if place.first_line:
        around = [
            each
            for each in symbols
            if each.first_line <= place.last_line and place.first_line <= each.last_line
        ]
        deepest = max((each.depth for each in around), default=0)
        symbols = [each for each in around if each.depth == deepest]
    if not symbols:
        raise ToolError(f"{place} is in no definition.")
    return list(dict.fromkeys(".".join(each.names) for each in symbols)), place.path


def is_in_repository(text: str, context: CodeContext) -> bool:
    """Return whether a text is a place in a file, and not Class.name. Raises ToolError."""
    if not any(mark in text for mark in "./:\\"):
        return False
    return path_exists(context, parse_place(text, context).path)


def find_history(
    text: str, context: CodeContext, limit: int = DEFAULT_COMMITS
) -> tuple[CodePlace, LineHistory]:
    """Return the place that is meant, and its commits, newest first.

    Raises ToolError, HistoryUnavailable.
    """
    place = locate_definition(text, context)
    lines = (place.first_line, place.last_line) if place.first_line else None
    return place, read_line_history(context.root.folder, place.path, lines, limit)


def locate_definition(text: str, context: CodeContext) -> CodePlace:
    """Return the place that a text names: a path, with lines or not, or a definition."""
    text = text.strip()
    if not text:
        raise ToolError("Say of what: a path, path:first-last, or a name.")
    place = parse_place(text, context)
    if path_exists(context, place.path):
        return place
    found = find_definitions(text, context)
    if not found:
        similar = suggest_similar(text, context)
        raise ToolError(f"There is no file {text}, and nothing of this name is defined.{similar}")
    if len(found) > 1:
        places = ", ".join(f"{each.path}:{each.first_line}-{each.last_line}" for each in found[:10])
        raise ToolError(f"{text} is defined in several places; name one: {places}")
    return CodePlace(found[0].path, found[0].first_line, found[0].last_line)
