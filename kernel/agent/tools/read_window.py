"""read_file as document 002 has it: lines with numbers, some of them, or those around one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kernel.agent.context import ToolContext
from kernel.agent.files import exists, load
from kernel.agent.gutter import numbered
from kernel.agent.line_ends import CRLF, LF
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.agent.tools.read_file import lines_of
from kernel.protocol.tool_arguments import about


@dataclass(frozen=True, slots=True)
class ReadWindow:
    """Which file, and which lines of it."""

    relative_path: Annotated[str, about("the file to read")]
    start_line: Annotated[int | None, about("the first line, from 1; needs end_line")] = None
    end_line: Annotated[int | None, about("the last line, included; needs start_line")] = None
    line: Annotated[int | None, about("instead: the line to show with its surroundings")] = None
    context_lines: Annotated[int, about("how many lines around it", least=0)] = 20

    ALIASES: ClassVar[Mapping[str, str]] = {"path": "relative_path", "file_path": "relative_path"}


def _run(arguments: ReadWindow, context: ToolContext) -> Outcome:
    path = arguments.relative_path
    if not exists(context, path):
        raise ToolFailed(f"文件不存在: {path}")
    text = load(context, path).text.replace(CRLF, LF)
    lines = [line.removesuffix(LF) for line in lines_of(text)]
    first, last = _window(arguments, len(lines))
    shown = lines[first - 1 : last]
    body = numbered(shown, first, () if arguments.line is None else {arguments.line})
    if len(body) > context.limits.output_characters:
        raise ToolFailed(f"文件过大: {path} ({len(lines)} 行), 请指定 start_line 和 end_line")
    name = path.replace("\\", "/").rpartition("/")[2]
    head = f"## 文件内容: {name}\n\n**路径**: {path}\n**行数**: {len(lines)}\n"
    head += f"**范围**: {first}-{first + len(shown) - 1}\n" if shown else ""
    data = {"path": path, "total_lines": len(lines), "first": first, "content": LF.join(shown)}
    return done(f"{head}\n```\n{body}\n```", data)


def _window(arguments: ReadWindow, count: int) -> tuple[int, int]:
    """The first and the last line that are shown, within the file."""
    if arguments.start_line is not None and arguments.end_line is not None:
        first = max(1, min(arguments.start_line, max(1, count)))
        return first, max(first, min(arguments.end_line, count))
    if arguments.line is not None:
        line = max(1, min(arguments.line, max(1, count)))
        return max(1, line - arguments.context_lines), min(count, line + arguments.context_lines)
    return 1, count


TOOL = Tool(
    name="read_file",
    purpose="Read a file with line numbers: all of it, a range of lines, or those around a line.",
    arguments=ReadWindow,
    danger=Danger.READS,
    run=_run,
)
