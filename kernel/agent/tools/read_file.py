"""read_file: a file's text, whole or a window of it, with its digest if wanted."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from kernel.agent.context import ToolContext
from kernel.agent.files import load
from kernel.agent.line_ends import CRLF, LF
from kernel.agent.text_file import TextFile
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import NotNegative, about


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Which file, and which part of it."""

    path: Annotated[str, about("the file to read")]
    start_line: Annotated[
        int | None, about("the first line, from 1; without end_line, up to the end of the file")
    ] = None
    end_line: Annotated[
        int | None, about("the last line, included; ignored without start_line")
    ] = None
    max_bytes: Annotated[
        NotNegative | None, about("at most so many bytes of UTF-8; no character is cut")
    ] = None
    with_metadata: Annotated[
        bool, about("give JSON: path, total_lines, mtime, sha256 of the whole file, content")
    ] = False


def _run(arguments: ReadFile, context: ToolContext) -> Outcome:
    file = load(context, arguments.path)
    lines = lines_of(file.text.replace(CRLF, LF))
    content = "".join(_window(lines, arguments.start_line, arguments.end_line))
    if arguments.max_bytes is not None:
        content = _first_bytes(content, arguments.max_bytes)
    if len(content) > context.limits.output_characters:
        raise ToolFailed(
            f"{arguments.path} is too long to be read at once: {len(lines):,} lines,"
            f" {len(content):,} characters. Give start_line and end_line, or max_bytes."
        )
    data = _metadata(file, len(lines), content)
    return done(json.dumps(data, ensure_ascii=False) if arguments.with_metadata else content, data)


def lines_of(text: str) -> list[str]:
    """The lines with their newlines; what follows the last newline is a line if it is anything."""
    lines = text.split(LF)
    last = lines.pop()
    return [line + LF for line in lines] + ([last] if last else [])


def _window(lines: list[str], start: int | None, end: int | None) -> list[str]:
    if start is None:
        return lines
    first = max(1, start)
    last = len(lines) if end is None else max(first, min(end, len(lines)))
    return lines[first - 1 : last]


def _first_bytes(content: str, most: int) -> str:
    return content.encode(errors="replace")[:most].decode(errors="ignore")


def _metadata(file: TextFile, total_lines: int, content: str) -> dict[str, Any]:
    changed = datetime.fromtimestamp(int(file.status.st_mtime))  # noqa: DTZ006 - local, as written
    return {
        "path": str(file.path),
        "total_lines": total_lines,
        "mtime": changed.isoformat(),
        "sha256": file.sha256,
        "content": content,
    }


TOOL = Tool(
    name="read_file",
    purpose=(
        "Read a text file: all of it, or a window of lines. Line ends are shown as newlines. With"
        " with_metadata the sha256 of the whole file comes too, for edit_file's precondition."
    ),
    arguments=ReadFile,
    danger=Danger.READS,
    run=_run,
)
