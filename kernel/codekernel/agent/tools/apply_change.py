"""apply_change of document 002: replace a block of lines, found whatever its indentation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import load_if_exists, write_text_file
from codekernel.agent.workspace.text_edit import CRLF, LF, EditableText, compute_diff
from codekernel.agent.workspace.text_file import reject_surrogates

# The text after a change, and the first line of it, from 1.
BlockReplacement = tuple[EditableText, int]


def replace_block(text: EditableText, search: str, replacement: str) -> BlockReplacement | None:
    """The text with the block replaced; None if it is nowhere."""
    search, replacement = search.replace(CRLF, LF), replacement.replace(CRLF, LF)
    return _replace_by_lines(text, search, replacement) or _replace_exact(text, search, replacement)


def _replace_by_lines(text: EditableText, search: str, replacement: str) -> BlockReplacement | None:
    wanted = [line for line in search.split(LF) if line.strip()]
    lines = text.view.split(LF)
    place = _find_lines(lines, [line.strip() for line in wanted])
    if place is None:
        return None
    first, last = place
    begin = sum(len(line) + 1 for line in lines[:first])
    end = begin + sum(len(line) + 1 for line in lines[first : last + 1])
    own = _reindent(replacement, _get_indent(wanted[0]), _get_indent(lines[first]))
    if end > len(text.view):  # the last line of the file has no line end, and gets none
        end, own = len(text.view), own.removesuffix(LF)
    return text.replace(begin, end, own), first + 1


def _replace_exact(text: EditableText, search: str, replacement: str) -> BlockReplacement | None:
    place = text.view.find(search)
    if place < 0:
        return None
    line = text.view.count(LF, 0, place) + 1
    return text.replace(place, place + len(search), replacement), line


def _find_lines(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, int] | None:
    """Return the first and last index of the block of lines, blank lines between them ignored."""
    if not wanted:
        return None
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    plain = [lines[number].strip() for number in numbers]
    for start in range(len(plain) - len(wanted) + 1):
        if plain[start] == wanted[0] and plain[start : start + len(wanted)] == list(wanted):
            return numbers[start], numbers[start + len(wanted) - 1]
    return None


def _reindent(content: str, written_indent: str, file_indent: str) -> str:
    """Whole lines, moved from the indentation they were written with to that of the file."""
    if not content:
        return ""
    lines = content.removesuffix(LF).split(LF)
    return "".join(f"{_reindent_line(line, written_indent, file_indent)}{LF}" for line in lines)


def _reindent_line(line: str, written_indent: str, file_indent: str) -> str:
    if not line.strip() or written_indent == file_indent:
        return line
    if line.startswith(written_indent):
        return file_indent + line[len(written_indent) :]
    # Further left than the block began.
    indent = _get_indent(line)
    kept = max(0, len(file_indent) - (len(written_indent) - len(indent)))
    return file_indent[:kept] + line[len(indent) :]


def _get_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


BLOCK_NOT_FOUND_MESSAGE = "未找到匹配的旧内容（精确和模糊都未匹配）"  # noqa: RUF001 - the document's


@dataclass(frozen=True, slots=True)
class ApplyChangeArguments:
    """Which file, what stands there, what shall stand there.

    relative_path: the file to change or make
    replace_content: the new lines
    search_content: the lines to be replaced; empty to write the whole file anew
    description: what the change is for
    """

    relative_path: str
    replace_content: str
    search_content: str = ""
    description: str = ""

    ALIASES: ClassVar[Mapping[str, str]] = {"path": "relative_path", "file_path": "relative_path"}


@tool("apply_change", ToolPermission.WRITES)
def apply_change(arguments: ApplyChangeArguments, context: ToolContext) -> ToolOutcome:
    """Replace a block of lines in a file.

    Indentation and blank lines of the searched block need not be exact; what replaces it is
    indented as the file is. Without searchContent the whole file is written.
    """
    reject_surrogates(arguments.replace_content, "replaceContent")
    path = arguments.relative_path
    file = load_if_exists(context, path)
    if file is None and arguments.search_content:
        raise ToolError(f"文件不存在: {path}")
    before = EditableText.from_text(file.text if file else "")
    if not arguments.search_content:
        after, line = before.adapt_line_endings(arguments.replace_content), 1
    else:
        block = replace_block(before, arguments.search_content, arguments.replace_content)
        if block is None:
            raise ToolError(BLOCK_NOT_FOUND_MESSAGE)
        after, line = block[0].text, block[1]
    write_text_file(context, apply_change.name, path, file, after)
    change = compute_diff(path, before.text, after)
    what = f"已修改文件: {path} (第 {line} 行)" if file else f"已创建文件: {path}"
    counted = f"**变更**: +{change.added} / -{change.deleted} 行"
    data = {"path": path, "added": change.added, "deleted": change.deleted, "diff": change.text}
    return make_success(f"{what}\n\n{counted}", data)
