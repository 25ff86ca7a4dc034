"""How tools read, create and change text files: inside the root, recorded for undo, atomically.

read_file is here, as our agent has it and as document 002 has it (read_window, with line numbers).
"""

import errno
import json
import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import ClassVar, Protocol

from codekernel.agent.permission_rules import explain_trimmed
from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolLimits, ToolPermission, translate_os_errors
from codekernel.agent.workspace.atomic_write import create_file, replace_file
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import (
    CRLF,
    LF,
    FileStates,
    TextFile,
    check_round_trip,
    read_text_file,
    reject_surrogates,
)
from codekernel.domain.confined_path import ConfinedPath
from codekernel.protocol.tool_schema import NonNegativeInt


class ReadingContext(Protocol):
    """What reading needs of a context."""

    @property
    def root(self) -> WorkspaceRoot:
        """The folder that files are read in."""

    @property
    def limits(self) -> ToolLimits:
        """How large a file may be."""

    @property
    def file_states(self) -> FileStates:
        """Which files were read, and as they were."""


def load_text_file(context: ReadingContext, path: str) -> TextFile:
    """Read the text file at a path. Raises ToolError."""
    with context.root.reach(path) as place:
        return _load(context, place, path)


def load_for_edit(context: ToolContext, path: str) -> TextFile:
    """Read a file that may be changed and can be written back byte for byte. Raises ToolError."""
    with context.root.reach_to_write(path) as place:
        file = _load(context, place, path)
    check_round_trip(file)
    return file


def load_if_exists(context: ToolContext, path: str) -> TextFile | None:
    """Read a file as ``load_for_edit`` does; None if there is nothing, and a file may be made."""
    with context.root.reach_to_write(path) as place:
        exists = place.status is not None
    return load_for_edit(context, path) if exists else None


def path_exists(context: ReadingContext, path: str) -> bool:
    """Return whether something exists at a path."""
    with context.root.reach(path) as place:
        return place.status is not None


def encode_text(file: TextFile | None, text: str) -> bytes:
    """Encode a new text of a file. Raises ToolError if the encoding lacks a character."""
    return file.encoding.encode(text, file.display_path) if file else text.encode()


def write_text_file(
    context: ToolContext, tool: str, path: str, file: TextFile | None, text: str
) -> None:
    """Write a new text into a file that was loaded, or make the file in UTF-8 if it is None.

    Its missing folders are made too. Raises ToolError, and changes nothing, if that is refused.
    """
    if file is None:
        create_text_file(context, tool, path, text)
        return
    wanted = text
    if context.review and encode_text(file, text) != file.data:
        text = context.review(tool, file.display_path, file.text, wanted)
    if (data := encode_text(file, text)) != file.data:
        with (
            translate_os_errors(file.display_path),
            context.root.reach_real(file.path) as place,
            context.journal.record_write(tool, file.path, file.data, data) as temporary,
        ):
            status = replace_file(place, data, file.status, temporary)
        context.file_states.record(file.path, status)
    if text != wanted:
        raise explain_trimmed(file.display_path, file.text, wanted, text)


def create_text_file(context: ToolContext, tool: str, path: str, content: str) -> bytes:
    """Create a file in UTF-8 with its missing folders; return what is in it.

    Raises ToolError if it exists.
    """
    reject_surrogates(content)
    data = content.encode()
    if context.review and not path_exists(context, path):
        context.review(tool, path, None, content)
    with context.root.reach_to_write(path) as place, translate_os_errors(path):
        try:
            status = _create(context, tool, place, data)
        except FileExistsError as error:
            raise ToolError(f"File already exists: {path}") from error
        context.file_states.record(place.path, status)
    return data


def list_missing_folders(place: ConfinedPath) -> tuple[Path, ...]:
    """Return the folders that must be created for a path, outermost first."""
    missing = range(len(place.missing), 0, -1)
    return tuple(place.root_path.joinpath(*place.parts[:-number]) for number in missing)


def _load(context: ReadingContext, place: ConfinedPath, path: str) -> TextFile:
    file = read_text_file(place, path, context.limits.max_file_bytes)
    context.file_states.record(file.path, file.status)
    return file


def _create(context: ToolContext, tool: str, place: ConfinedPath, data: bytes) -> os.stat_result:
    if place.status is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    folders = list_missing_folders(place)
    with (
        context.journal.record_write(tool, place.path, None, data, folders) as temporary,
        place.create_missing_folders() as parent,
    ):
        return create_file(parent, place.name, data, temporary)


MARKED_GUTTER, PLAIN_GUTTER = " >>> ", " |   "


def format_numbered_lines(lines: Sequence[str], first: int, marked: Collection[int] = ()) -> str:
    """Lines from number ``first`` on, one per row."""
    return "\n".join(
        f"{number:4d}{MARKED_GUTTER if number in marked else PLAIN_GUTTER}{line}"
        for number, line in enumerate(lines, start=first)
    )


@dataclass(frozen=True, slots=True)
class ReadFileArguments:
    """Which file, and which part of it.

    path: the file to read
    start_line: the first line, from 1; without end_line, up to the end of the file
    end_line: the last line, included; ignored without start_line
    max_bytes: at most so many bytes of UTF-8; no character is cut
    with_metadata: give JSON: path, total_lines, mtime, sha256 of the whole file, content
    """

    path: str
    start_line: int | None = None
    end_line: int | None = None
    max_bytes: NonNegativeInt | None = None
    with_metadata: bool = False


@tool("read_file", ToolPermission.READS)
def read_file(arguments: ReadFileArguments, context: ToolContext) -> ToolOutcome:
    """Read a text file: all of it, or a window of lines.

    Line ends are shown as newlines. With with_metadata the sha256 of the whole file comes too,
    for edit_file's precondition.
    """
    file = load_text_file(context, arguments.path)
    lines = StringIO(file.text.replace(CRLF, LF)).readlines()
    content = "".join(_select_lines(lines, arguments.start_line, arguments.end_line))
    if arguments.max_bytes is not None:
        encoded = content.encode(errors="replace")[: arguments.max_bytes]
        content = encoded.decode(errors="ignore")
    if len(content) > context.limits.max_output_characters:
        raise ToolError(
            f"{arguments.path} is too long to be read at once: {len(lines):,} lines,"
            f" {len(content):,} characters. Give start_line and end_line, or max_bytes."
        )
    changed = time.localtime(file.status.st_mtime)
    data = {
        "path": str(file.path),
        "total_lines": len(lines),
        "mtime": time.strftime("%Y-%m-%dT%H:%M:%S", changed),
        "sha256": file.sha256,
        "content": content,
    }
    text = json.dumps(data, ensure_ascii=False) if arguments.with_metadata else content
    return make_success(text, data)


def _select_lines(lines: list[str], start: int | None, end: int | None) -> list[str]:
    if start is None:
        return lines
    first = max(1, start)
    last = len(lines) if end is None else max(first, min(end, len(lines)))
    return lines[first - 1 : last]


@dataclass(frozen=True, slots=True)
class ReadWindowArguments:
    """Which file, and which lines of it.

    relative_path: the file to read
    start_line: the first line, from 1; needs end_line
    end_line: the last line, included; needs start_line
    line: instead: the line to show with its surroundings
    context_lines: how many lines around it
    """

    relative_path: str
    start_line: int | None = None
    end_line: int | None = None
    line: int | None = None
    context_lines: NonNegativeInt = 20

    ALIASES: ClassVar[Mapping[str, str]] = {"path": "relative_path", "file_path": "relative_path"}


@tool("read_file", ToolPermission.READS)
def read_window(arguments: ReadWindowArguments, context: ToolContext) -> ToolOutcome:
    """Read a file with line numbers: all of it, a range of lines, or those around a line."""
    path = arguments.relative_path
    if not path_exists(context, path):
        raise ToolError(f"文件不存在: {path}")
    text = load_text_file(context, path).text.replace(CRLF, LF)
    lines = [line.removesuffix(LF) for line in StringIO(text)]
    first, last = _get_window(arguments, len(lines))
    shown = lines[first - 1 : last]
    body = format_numbered_lines(shown, first, () if arguments.line is None else {arguments.line})
    if len(body) > context.limits.max_output_characters:
        raise ToolError(f"文件过大: {path} ({len(lines)} 行), 请指定 start_line 和 end_line")
    name = path.replace("\\", "/").rpartition("/")[2]
    head = f"## 文件内容: {name}\n\n**路径**: {path}\n**行数**: {len(lines)}\n"
    head += f"**范围**: {first}-{first + len(shown) - 1}\n" if shown else ""
    data = {"path": path, "total_lines": len(lines), "first": first, "content": LF.join(shown)}
    return make_success(f"{head}\n```\n{body}\n```", data)


def _get_window(arguments: ReadWindowArguments, count: int) -> tuple[int, int]:
    """The first and the last line that are shown, within the file."""
    if arguments.start_line is not None and arguments.end_line is not None:
        first = max(1, min(arguments.start_line, max(1, count)))
        return first, max(first, min(arguments.end_line, count))
    if arguments.line is not None:
        line = max(1, min(arguments.line, max(1, count)))
        return max(1, line - arguments.context_lines), min(count, line + arguments.context_lines)
    return 1, count
