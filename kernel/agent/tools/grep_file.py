"""grep_file as document 002 has it: a word or an expression in one file, or in all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, ClassVar

from kernel.agent.context import ToolContext
from kernel.agent.files import exists, load
from kernel.agent.gutter import numbered
from kernel.agent.line_search import FoundLine, LineSearch
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about

_ENDINGS = {"java": (".java",), "config": (".properties", ".yml", ".yaml", ".xml")}


@dataclass(frozen=True, slots=True)
class GrepFile:
    """What to look for, and where."""

    pattern: Annotated[str, about("a text, or with regex true a regular expression")]
    relative_path: Annotated[str | None, about("one file; all files without it")] = None
    regex: Annotated[bool, about("the pattern is a regular expression")] = False
    case_sensitive: Annotated[bool, about("capitals matter")] = False
    context_lines: Annotated[int, about("lines around each match in one file", least=0)] = 0
    limit: Annotated[int, about("the most matches over all files", least=1)] = 20
    file_type: Annotated[str, about("java, config, all, or a file ending, over all files")] = "all"

    ALIASES: ClassVar[Mapping[str, str]] = {"path": "relative_path", "file_path": "relative_path"}


def _run(arguments: GrepFile, context: ToolContext) -> Outcome:
    search = LineSearch(
        context,
        arguments.pattern,
        is_regex=arguments.regex,
        ignore_case=not arguments.case_sensitive,
    )
    if arguments.relative_path:
        return _in_file(arguments, arguments.relative_path, search, context)
    return _in_project(arguments, search, context)


def _in_file(arguments: GrepFile, path: str, search: LineSearch, context: ToolContext) -> Outcome:
    if not exists(context, path):
        raise ToolFailed(f"文件不存在: {path}")
    file = load(context, path)
    shown = context.root.shown(file.path)
    found = list(islice(search.in_text(shown, file.text), context.limits.matches))
    if not found:
        return _nothing(f"{arguments.pattern} (文件: {path})", search)
    lines = [line.removesuffix("\r") for line in file.text.split("\n")]
    marked = {each.number for each in found}
    blocks = "\n...\n".join(
        numbered(lines[first - 1 : last], first, marked)
        for first, last in _windows(sorted(marked), arguments.context_lines, len(lines))
    )
    name = path.replace("\\", "/").rpartition("/")[2]
    head = f"## 文件内容搜索: {name}\n\n**匹配数量**: {len(found)}\n"
    return done(f"{head}\n```\n{blocks}\n```{_doubt(search)}", _data(found, search))


def _in_project(arguments: GrepFile, search: LineSearch, context: ToolContext) -> Outcome:
    endings = _endings(arguments.file_type)
    with context.root.reach(".") as place:
        lines = (
            each
            for each in search.below(place)
            if not endings or each.path.lower().endswith(endings)
        )
        found = list(islice(lines, min(arguments.limit, context.limits.matches)))
    if not found:
        return _nothing(arguments.pattern, search)
    rows = "\n".join(f"- {each.path}:{each.number}: {each.text.strip()}" for each in found)
    head = f"## 项目内容搜索: {arguments.pattern}\n\n**匹配数量**: {len(found)}\n"
    return done(f"{head}\n{rows}{_doubt(search)}", _data(found, search))


def _endings(file_type: str) -> tuple[str, ...]:
    plain = file_type.strip().lower().lstrip("*.")
    return () if plain in {"", "all"} else _ENDINGS.get(plain, (f".{plain}",))


def _windows(numbers: Sequence[int], around: int, count: int) -> list[tuple[int, int]]:
    """The lines to show, as ranges that do not touch."""
    windows: list[tuple[int, int]] = []
    for number in numbers:
        first, last = max(1, number - around), min(count, number + around)
        if windows and first <= windows[-1][1] + 1:
            windows[-1] = (windows[-1][0], last)
        else:
            windows.append((first, last))
    return windows


def _nothing(what: str, search: LineSearch) -> Outcome:
    return done(f"未找到匹配 {what}{_doubt(search)}", _data([], search))


def _doubt(search: LineSearch) -> str:
    return "" if search.is_complete else "\n\n(搜索超时, 结果不完整)"


def _data(found: Sequence[FoundLine], search: LineSearch) -> dict[str, object]:
    rows = [{"path": each.path, "line": each.number, "text": each.text} for each in found]
    return {"matches": rows, "complete": search.is_complete}


TOOL = Tool(
    name="grep_file",
    purpose="Find a text or a regular expression in one file, or in all files of the project.",
    arguments=GrepFile,
    danger=Danger.READS,
    run=_run,
)
