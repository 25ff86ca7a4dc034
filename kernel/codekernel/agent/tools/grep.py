"""Search the text of files line by line, by regular expression or plain text.

Within a time limit: search_context and document 002's grep_file.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, ClassVar

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import load_text_file, path_exists
from codekernel.agent.tools.read_file import format_numbered_lines
from codekernel.agent.workspace.text_file import read_text_file
from codekernel.domain.confinement.confined_path import ConfinedFiles, ConfinedPath
from codekernel.domain.source_files import FoundFile, SkippedPath, SkipReason
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import Cancelled
from codekernel.files.walk import FileWalker
from codekernel.protocol.tool_schema import describe_argument
from codekernel.search.safe_regex import (
    choose_piece_length,
    compile_regex,
    extract_literals,
    split_line,
)

MAX_LINE_CHARACTERS = 2_000

# Not worth indexing, but an exact word should be found there too.
_SEARCHED_SKIP_REASONS = frozenset(
    {SkipReason.GENERATED, SkipReason.MINIFIED, SkipReason.TOO_LARGE}
)


@dataclass(frozen=True, slots=True)
class LineMatch:
    """``number`` counts from 1; ``path`` is relative to the root."""

    path: str
    number: int
    text: str


class LineSearch:
    """One search; ``is_complete`` turns false once time has run out."""

    def __init__(
        self,
        context: ToolContext,
        pattern: str,
        *,
        is_regex: bool = True,
        ignore_case: bool = False,
    ) -> None:
        """Raises WrongParam for an expression that is invalid, or that could run for ages."""
        if not pattern:
            raise ToolError("The pattern is empty: say what to look for.")
        expression = pattern if is_regex else re.escape(pattern)
        self._pattern = compile_regex(expression, ignore_case=ignore_case)
        self._piece_length = choose_piece_length(self._pattern)
        self._required_literals = (
            [] if self._is_case_insensitive() else extract_literals(self._pattern)
        )
        self._context = context
        self._deadline = time.monotonic() + context.limits.timeout_seconds
        self.is_complete = True

    def search_file(self, place: ConfinedPath, path: str) -> Iterator[LineMatch]:
        """Search one file, even an ignored one. Raises ToolError if it is no text."""
        file = read_text_file(place, path, self._context.limits.max_file_bytes)
        yield from self.search_text("/".join(place.parts), file.text)

    def search_folder(self, place: ConfinedPath) -> Iterator[LineMatch]:
        """Lines of the files of a folder that no ignore rule leaves out, by path.

        Raises OSError if the folder cannot be opened.
        """
        prefix = "".join(f"{part}/" for part in place.parts)
        with ConfinedFiles(place.open_folder(), place.path) as files:
            for found in FileWalker(place.path, place.open_folder).iterate_files(
                self._context.cancel
            ):
                if not self._check_time():
                    return
                path = prefix + found.path
                text = self._read_text(files, found.path) if _is_searched(found) else ""
                yield from self.search_text(path, text)

    def _read_text(self, files: ConfinedFiles, path: str) -> str:
        try:
            return read_text_file(
                files.locate(path), path, self._context.limits.max_file_bytes
            ).text
        except (OSError, ToolError):  # binary, gone, or too large
            return ""

    def search_text(self, path: str, text: str) -> Iterator[LineMatch]:
        """Lines of a text that stands in the file of this path."""
        if any(literal not in text for literal in self._required_literals):
            return
        for number, line in enumerate(text.split("\n"), start=1):
            plain = line.removesuffix("\r")
            if any(literal not in plain for literal in self._required_literals):
                continue
            # The clock costs less than any expression.
            if not self._check_time():
                return
            if self._is_match(plain):
                yield LineMatch(encode_path(path), number, _truncate_line(plain))

    def _is_match(self, line: str) -> bool:
        return any(
            self._pattern.search(piece)
            for piece in split_line(line, self._piece_length)
            if len(line) <= self._piece_length or self._check_time()
        )

    def _check_time(self) -> bool:
        if self._context.cancel.is_cancelled:
            raise Cancelled("the search was cancelled")
        self.is_complete = self.is_complete and time.monotonic() < self._deadline
        return self.is_complete

    def _is_case_insensitive(self) -> bool:
        return bool(self._pattern.flags & re.IGNORECASE)


def _is_searched(found: FoundFile | SkippedPath) -> bool:
    if isinstance(found, FoundFile):
        return True
    return found.reason in _SEARCHED_SKIP_REASONS and not found.path.endswith("/")


def _truncate_line(line: str) -> str:
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    return f"{line[:MAX_LINE_CHARACTERS]} [... {len(line) - MAX_LINE_CHARACTERS:,} more characters]"


NO_MATCHES_MESSAGE = "No matches found"


@dataclass(frozen=True, slots=True)
class SearchContextArguments:
    """What to look for, and where."""

    pattern: Annotated[str, describe_argument("a regular expression, matched line by line")]
    path: Annotated[str, describe_argument("the folder or file to search")] = "."


@tool("search_context", ToolPermission.READS)
def search_context(arguments: SearchContextArguments, context: ToolContext) -> ToolOutcome:
    """Search the text of files with a regular expression.

    Gives file:line:text for a folder, line:text for a single file. Files that .gitignore names
    are left out.
    """
    search = LineSearch(context, arguments.pattern)
    most = context.limits.max_matches
    with context.root.reach(arguments.path) as place:
        if place.is_folder:
            lines, shown = search.search_folder(place), _format_with_path
        elif place.status is not None:
            lines, shown = search.search_file(place, arguments.path), _format_without_path
        else:
            raise ToolError(f"Path not found: {arguments.path}")
        found = list(islice(lines, most + 1))
    texts = [shown(each) for each in found[:most]]
    if len(found) > most:
        texts.append(f"[more than {most:,} matches: make the pattern longer or name a folder]")
    if not search.is_complete:
        texts.append(
            f"[stopped after {context.limits.timeout_seconds:g} seconds, not everything "
            "was searched:"
            " name a folder]"
        )
    data = {"matches": min(len(found), most), "complete": search.is_complete}
    return make_success("\n".join(texts) if texts else NO_MATCHES_MESSAGE, data)


def _format_with_path(found: LineMatch) -> str:
    return f"{found.path}:{found.number}:{found.text}"


def _format_without_path(found: LineMatch) -> str:
    return f"{found.number}:{found.text}"


_FILE_TYPE_SUFFIXES = {"java": (".java",), "config": (".properties", ".yml", ".yaml", ".xml")}


@dataclass(frozen=True, slots=True)
class GrepFileArguments:
    """What to look for, and where."""

    pattern: Annotated[str, describe_argument("a text, or with regex true a regular expression")]
    relative_path: Annotated[str | None, describe_argument("one file; all files without it")] = None
    regex: Annotated[bool, describe_argument("the pattern is a regular expression")] = False
    case_sensitive: Annotated[bool, describe_argument("capitals matter")] = False
    context_lines: Annotated[
        int, describe_argument("lines around each match in one file", minimum=0)
    ] = 0
    limit: Annotated[int, describe_argument("the most matches over all files", minimum=1)] = 20
    file_type: Annotated[
        str, describe_argument("java, config, all, or a file ending, over all files")
    ] = "all"

    ALIASES: ClassVar[Mapping[str, str]] = {"path": "relative_path", "file_path": "relative_path"}


@tool("grep_file", ToolPermission.READS)
def grep_file(arguments: GrepFileArguments, context: ToolContext) -> ToolOutcome:
    """Find a text or a regular expression in one file, or in all files of the project."""
    search = LineSearch(
        context,
        arguments.pattern,
        is_regex=arguments.regex,
        ignore_case=not arguments.case_sensitive,
    )
    if arguments.relative_path:
        return _grep_one_file(arguments, arguments.relative_path, search, context)
    return _grep_project(arguments, search, context)


def _grep_one_file(
    arguments: GrepFileArguments, path: str, search: LineSearch, context: ToolContext
) -> ToolOutcome:
    if not path_exists(context, path):
        raise ToolError(f"文件不存在: {path}")
    file = load_text_file(context, path)
    shown = context.root.format_path(file.path)
    found = list(islice(search.search_text(shown, file.text), context.limits.max_matches))
    if not found:
        return _build_no_match(f"{arguments.pattern} (文件: {path})", search)
    lines = [line.removesuffix("\r") for line in file.text.split("\n")]
    marked = {each.number for each in found}
    blocks = "\n...\n".join(
        format_numbered_lines(lines[first - 1 : last], first, marked)
        for first, last in _merge_windows(sorted(marked), arguments.context_lines, len(lines))
    )
    name = path.replace("\\", "/").rpartition("/")[2]
    head = f"## 文件内容搜索: {name}\n\n**匹配数量**: {len(found)}\n"
    return make_success(
        f"{head}\n```\n{blocks}\n```{_format_incomplete(search)}", _build_match_data(found, search)
    )


def _grep_project(
    arguments: GrepFileArguments, search: LineSearch, context: ToolContext
) -> ToolOutcome:
    endings = _get_suffixes(arguments.file_type)
    with context.root.reach(".") as place:
        lines = (
            each
            for each in search.search_folder(place)
            if not endings or each.path.lower().endswith(endings)
        )
        found = list(islice(lines, min(arguments.limit, context.limits.max_matches)))
    if not found:
        return _build_no_match(arguments.pattern, search)
    rows = "\n".join(f"- {each.path}:{each.number}: {each.text.strip()}" for each in found)
    head = f"## 项目内容搜索: {arguments.pattern}\n\n**匹配数量**: {len(found)}\n"
    return make_success(
        f"{head}\n{rows}{_format_incomplete(search)}", _build_match_data(found, search)
    )


def _get_suffixes(file_type: str) -> tuple[str, ...]:
    plain = file_type.strip().lower().lstrip("*.")
    return () if plain in {"", "all"} else _FILE_TYPE_SUFFIXES.get(plain, (f".{plain}",))


def _merge_windows(numbers: Sequence[int], around: int, count: int) -> list[tuple[int, int]]:
    """The lines to show, as ranges that do not touch."""
    windows: list[tuple[int, int]] = []
    for number in numbers:
        first, last = max(1, number - around), min(count, number + around)
        if windows and first <= windows[-1][1] + 1:
            windows[-1] = (windows[-1][0], last)
        else:
            windows.append((first, last))
    return windows


def _build_no_match(what: str, search: LineSearch) -> ToolOutcome:
    return make_success(
        f"未找到匹配 {what}{_format_incomplete(search)}", _build_match_data([], search)
    )


def _format_incomplete(search: LineSearch) -> str:
    return "" if search.is_complete else "\n\n(搜索超时, 结果不完整)"


def _build_match_data(found: Sequence[LineMatch], search: LineSearch) -> dict[str, object]:
    rows = [{"path": each.path, "line": each.number, "text": each.text} for each in found]
    return {"matches": rows, "complete": search.is_complete}
