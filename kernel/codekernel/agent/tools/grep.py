"""Search the text of files line by line, by regular expression or plain text.

Within a time limit: search_context and document 002's grep_file.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import ClassVar

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import format_numbered_lines, load_text_file, path_exists
from codekernel.agent.workspace.text_file import TextFile, read_text_file
from codekernel.domain.confined_path import ConfinedFiles, ConfinedPath
from codekernel.domain.index import FoundFile, SkippedPath, SkipReason
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import Cancelled
from codekernel.files.walk import FileWalker
from codekernel.protocol.tool_schema import NonNegativeInt, PositiveInt
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
    """``line`` is its number, from 1; ``path`` is relative to the root."""

    path: str
    line: int
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
        ignores_case = self._pattern.flags & re.IGNORECASE
        self._required_literals = [] if ignores_case else extract_literals(self._pattern)
        self._context = context
        self._deadline = time.monotonic() + context.limits.timeout_seconds
        self.is_complete = True

    def search_file(self, place: ConfinedPath, path: str) -> Iterator[LineMatch]:
        """Search one file, even an ignored one. Raises ToolError if it is no text."""
        yield from self.search_text("/".join(place.parts), self._read_file(place, path).text)

    def search_folder(
        self, place: ConfinedPath, is_wanted: Callable[[str], bool] = lambda _: True
    ) -> Iterator[LineMatch]:
        """Lines of the files of a folder that no ignore rule leaves out, by path.

        Of these, files with a path below the folder that is wanted. Raises OSError if the folder
        cannot be opened.
        """
        prefix = "".join(f"{part}/" for part in place.parts)
        walker = FileWalker(place.path, place.open_folder)
        with ConfinedFiles(place.open_folder(), place.path) as files:
            for found in filter(_is_searched, walker.iterate_files(self._context.cancel)):
                if not self._check_time():
                    return
                if not is_wanted(found.path):
                    continue
                try:
                    file = self._read_file(files.locate(found.path), found.path)
                except (OSError, ToolError):  # binary, gone, or too large
                    continue
                yield from self.search_text(prefix + found.path, file.text)

    def _read_file(self, place: ConfinedPath, path: str) -> TextFile:
        return read_text_file(place, path, self._context.limits.max_file_bytes)

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
    """What to look for, and where.

    pattern: a regular expression, matched line by line
    path: the folder or file to search
    """

    pattern: str
    path: str = "."


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
            lines, shown = search.search_folder(place), "{0.path}:{0.line}:{0.text}"
        elif place.status is not None:
            lines, shown = search.search_file(place, arguments.path), "{0.line}:{0.text}"
        else:
            raise ToolError(f"Path not found: {arguments.path}")
        found = list(islice(lines, most + 1))
    texts = [shown.format(each) for each in found[:most]]
    if len(found) > most:
        texts.append(f"[more than {most:,} matches: make the pattern longer or name a folder]")
    if not search.is_complete:
        texts.append(
            f"[stopped after {context.limits.timeout_seconds:g} seconds, not everything was"
            " searched: name a folder]"
        )
    data = {"matches": min(len(found), most), "complete": search.is_complete}
    return make_success("\n".join(texts) or NO_MATCHES_MESSAGE, data)


_FILE_TYPE_SUFFIXES = {"java": (".java",), "config": (".properties", ".yml", ".yaml", ".xml")}


@dataclass(frozen=True, slots=True)
class GrepFileArguments:
    """What to look for, and where.

    pattern: a text, or with regex true a regular expression
    relative_path: one file; all files without it
    regex: the pattern is a regular expression
    case_sensitive: capitals matter
    context_lines: lines around each match in one file
    limit: the most matches over all files
    file_type: java, config, all, or a file ending, over all files
    """

    pattern: str
    relative_path: str | None = None
    regex: bool = False
    case_sensitive: bool = False
    context_lines: NonNegativeInt = 0
    limit: PositiveInt = 20
    file_type: str = "all"

    ALIASES: ClassVar[Mapping[str, str]] = {"path": "relative_path", "file_path": "relative_path"}


@tool("grep_file", ToolPermission.READS)
def grep_file(arguments: GrepFileArguments, context: ToolContext) -> ToolOutcome:
    """Find a text or a regular expression in one file, or in all files of the project."""
    ignore_case = not arguments.case_sensitive
    search = LineSearch(
        context, arguments.pattern, is_regex=arguments.regex, ignore_case=ignore_case
    )
    grep = _grep_one_file if arguments.relative_path else _grep_project
    found, text = grep(arguments, search, context)
    text += "" if search.is_complete else "\n\n(搜索超时, 结果不完整)"
    data = {"matches": [asdict(each) for each in found], "complete": search.is_complete}
    return make_success(text, data)


def _grep_one_file(
    arguments: GrepFileArguments, search: LineSearch, context: ToolContext
) -> tuple[list[LineMatch], str]:
    path = arguments.relative_path or ""
    if not path_exists(context, path):
        raise ToolError(f"文件不存在: {path}")
    file = load_text_file(context, path)
    shown = context.root.format_path(file.path)
    found = list(islice(search.search_text(shown, file.text), context.limits.max_matches))
    if not found:
        return [], f"未找到匹配 {arguments.pattern} (文件: {path})"
    lines = [line.removesuffix("\r") for line in file.text.split("\n")]
    marked = {each.line for each in found}
    blocks = "\n...\n".join(
        format_numbered_lines(lines[first - 1 : last], first, marked)
        for first, last in _merge_windows(sorted(marked), arguments.context_lines, len(lines))
    )
    name = path.replace("\\", "/").rpartition("/")[2]
    head = f"## 文件内容搜索: {name}\n\n**匹配数量**: {len(found)}\n"
    return found, f"{head}\n```\n{blocks}\n```"


def _grep_project(
    arguments: GrepFileArguments, search: LineSearch, context: ToolContext
) -> tuple[list[LineMatch], str]:
    endings = _get_suffixes(arguments.file_type)
    with context.root.reach(".") as place:
        lines = search.search_folder(place)
        chosen = (each for each in lines if not endings or each.path.lower().endswith(endings))
        found = list(islice(chosen, min(arguments.limit, context.limits.max_matches)))
    if not found:
        return [], f"未找到匹配 {arguments.pattern}"
    rows = "\n".join(f"- {each.path}:{each.line}: {each.text.strip()}" for each in found)
    return found, f"## 项目内容搜索: {arguments.pattern}\n\n**匹配数量**: {len(found)}\n\n{rows}"


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
