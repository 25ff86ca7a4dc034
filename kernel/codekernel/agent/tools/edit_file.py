"""edit_file: overwrite, append, prepend, or apply a patch of anchored hunks; all hunks or none.

apply_change of document 002 replaces a block of lines.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import (
    encode_text,
    load_for_edit,
    load_if_exists,
    write_text_file,
)
from codekernel.agent.workspace.bounded_regex import Span, find_spans
from codekernel.agent.workspace.text_file import (
    CRLF,
    LF,
    EditableText,
    TextFile,
    compute_diff,
    hash_bytes,
    reject_surrogates,
)
from codekernel.protocol.tool_schema import PositiveInt

# So many places of an anchor that is not unique are named.
_MAX_LISTED_LINES = 10

# Of a pattern that was not found, in a sentence.
_MAX_PATTERN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class EditAnchor:
    """What a hunk is tied to.

    type: how the pattern is read
    pattern: text that stands in the file, or a Python regular expression (MULTILINE)
    occurrence: which match, if there are several
    nth: the n-th match instead, from 1
    dotall: regex: the dot matches newlines too
    ignorecase: regex: capitals do not matter
    range: look only in these lines: [first, last], from 1
    must_unique: fail if there are several matches
    """

    type: Literal["exact", "regex"]
    pattern: str
    occurrence: Literal["first", "last"] = "first"
    nth: PositiveInt | None = None
    dotall: bool = False
    ignorecase: bool = False
    range: tuple[int, int] | None = None
    must_unique: bool = False


@dataclass(frozen=True, slots=True)
class EditHunk:
    """One change of a patch.

    op: what happens at the anchor
    content: the new text; literally, nothing in it is expanded
    must_unique: fail if there are several matches
    """

    op: Literal["replace", "insert_before", "insert_after", "delete"]
    anchor: EditAnchor
    content: str | None = None
    must_unique: bool = False


# Where a hunk was applied: its number and ``op``, the line in the text before it, and how many
# matches its anchor has.
AppliedHunk = dict[str, int | str]


def apply_hunks(
    text: EditableText, hunks: Sequence[EditHunk], timeout_seconds: float
) -> tuple[EditableText, list[AppliedHunk]]:
    """Return the text with all hunks applied. Raises ToolError with the first that cannot be."""
    applied: list[AppliedHunk] = []
    for number, hunk in enumerate(hunks, start=1):
        try:
            start, end, count = _locate_anchor(text.view, hunk, timeout_seconds)
            content = _get_content(hunk)
        except ToolError as error:
            raise ToolError(f"Hunk {number}: {error} Nothing was changed.") from None
        line = text.view.count(LF, 0, start) + 1
        applied.append({"hunk": number, "op": hunk.op, "line": line, "count": count})
        if hunk.op == "insert_before":
            end = start
        elif hunk.op == "insert_after":
            start = end
        text = text.replace(start, end, content)
    return text, applied


def _get_content(hunk: EditHunk) -> str:
    if hunk.op == "delete":
        return ""
    if hunk.content is None:
        raise ToolError(f"`content` is missing, which {hunk.op} needs.")
    return hunk.content


def _locate_anchor(view: str, hunk: EditHunk, timeout_seconds: float) -> tuple[int, int, int]:
    """Return begin and end of the chosen match, and the number of matches."""
    anchor = hunk.anchor
    if not anchor.pattern:
        raise ToolError("The anchor's pattern is empty.")
    begin, end = _get_line_range(view, anchor.range)
    found = _find_matches(view[begin:end], anchor, timeout_seconds)
    if not found:
        where = f" in lines {anchor.range[0]} to {anchor.range[1]}" if anchor.range else ""
        pattern = anchor.pattern
        if len(pattern) > _MAX_PATTERN_CHARACTERS:
            pattern = f"{pattern[:_MAX_PATTERN_CHARACTERS]}..."
        raise ToolError(f"The anchor was not found{where}: {pattern!r}.")
    chosen = _choose_match(found, anchor)
    unique = (hunk.must_unique or anchor.must_unique) and anchor.nth is None
    if unique and anchor.occurrence != "last" and len(found) > 1:
        lines = [view.count(LF, 0, begin + start) + 1 for start, _ in found[:_MAX_LISTED_LINES]]
        raise ToolError(
            f"The anchor is not unique, it matches {len(found)} times (lines"
            f" {', '.join(map(str, lines))}{', ...' if len(found) > _MAX_LISTED_LINES else ''}):"
            " make it longer, or give nth."
        )
    return begin + chosen[0], begin + chosen[1], len(found)


def _choose_match(found: Sequence[Span], anchor: EditAnchor) -> Span:
    if anchor.nth is None:
        return found[-1] if anchor.occurrence == "last" else found[0]
    if anchor.nth > len(found):
        raise ToolError(f"There is no match {anchor.nth} of the anchor, only {len(found)}.")
    return found[anchor.nth - 1]


def _find_matches(text: str, anchor: EditAnchor, timeout_seconds: float) -> list[Span]:
    if anchor.type == "exact":
        exact = re.escape(anchor.pattern.replace(CRLF, LF))
        return [found.span() for found in re.finditer(exact, text)]
    flags = re.MULTILINE
    flags |= re.DOTALL if anchor.dotall else re.NOFLAG
    flags |= re.IGNORECASE if anchor.ignorecase else re.NOFLAG
    return find_spans(anchor.pattern, int(flags), text, timeout_seconds)


def _get_line_range(view: str, lines: tuple[int, int] | None) -> Span:
    """The characters of a range of lines, the line end of the last one included."""
    if lines is None:
        return 0, len(view)
    first, last = lines
    if first < 1 or last < first:
        raise ToolError(f"The range [{first}, {last}] is no range of lines, which count from 1.")
    return _find_line_start(view, first), _find_line_start(view, last + 1)


def _find_line_start(view: str, number: int) -> int:
    place = 0
    for _ in range(number - 1):
        place = view.find(LF, place) + 1
        if place == 0:
            return len(view)
    return place


OVERWRITE, APPEND, PREPEND, PATCH = "overwrite", "append", "prepend", "patch"


@dataclass(frozen=True, slots=True)
class EditPrecondition:
    """What must be true of the file before it is written.

    file_sha256: the sha256 of the whole file, as read_file gave it
    """

    file_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class EditFileArguments:
    """Which file, and how it changes.

    path: the file to change
    mode: overwrite makes a file that is missing; patch applies hunks
    content: the text, in every mode but patch
    hunks: the changes of a patch, applied in order, all or none
    precondition: refuse if the file is another
    dry_run: say what would change, and change nothing
    """

    path: str
    mode: Literal["overwrite", "append", "prepend", "patch"] = "patch"
    content: str | None = None
    hunks: tuple[EditHunk, ...] = ()
    precondition: EditPrecondition | None = None
    dry_run: bool = False


@tool("edit_file", ToolPermission.WRITES)
def edit_file(arguments: EditFileArguments, context: ToolContext) -> ToolOutcome:
    """Change a file.

    Simple modes write a whole text (overwrite) or add one (append, prepend). Mode patch changes
    places that an anchor names: an exact text or a regular expression. Either all hunks are
    applied or none. Gives JSON with a diff.
    """
    _check_arguments(arguments)
    load = load_if_exists if arguments.mode == OVERWRITE else load_for_edit
    file = load(context, arguments.path)
    _check_precondition(arguments, file.sha256 if file else "")
    text, applied = _apply_edit(arguments, file, context.limits.timeout_seconds)
    outcome = _build_outcome(arguments, file, text, applied)
    if not arguments.dry_run:
        write_text_file(context, edit_file.name, arguments.path, file, text)
    return outcome


def _check_arguments(arguments: EditFileArguments) -> None:
    """Raise ToolError if an argument that the mode needs is missing."""
    if arguments.mode == PATCH and not arguments.hunks:
        raise ToolError("mode patch needs `hunks`; to write a whole text use mode overwrite.")
    if arguments.mode != PATCH and arguments.content is None:
        raise ToolError(f"mode {arguments.mode} needs `content`.")
    for content in (arguments.content, *(hunk.content for hunk in arguments.hunks)):
        reject_surrogates(content or "")


def _check_precondition(arguments: EditFileArguments, sha256: str) -> None:
    wanted = arguments.precondition.file_sha256 if arguments.precondition else None
    if wanted and wanted.lower() != sha256:
        raise ToolError(
            f"Precondition failed: {arguments.path} has the sha256 {sha256 or '(no such file)'},"
            f" not {wanted}. It has been changed since: read it again.",
            {"sha256": sha256},
        )


def _apply_edit(
    arguments: EditFileArguments, file: TextFile | None, timeout_seconds: float
) -> tuple[str, list[AppliedHunk]]:
    before = EditableText.from_text(file.text if file else "")
    if arguments.mode == PATCH:
        after, applied = apply_hunks(before, arguments.hunks, timeout_seconds)
        return after.text, applied
    own = before.adapt_line_endings(arguments.content or "")
    modes = {OVERWRITE: own, APPEND: before.text + own, PREPEND: own + before.text}
    return modes[arguments.mode], []


def _build_outcome(
    arguments: EditFileArguments,
    file: TextFile | None,
    text: str,
    applied: Sequence[AppliedHunk],
) -> ToolOutcome:
    """Report the change of a file, or its creation if it is None."""
    data = encode_text(file, text)
    change = compute_diff(arguments.path, file.text if file else "", text)
    result = {
        "path": arguments.path,
        "mode": arguments.mode,
        "dry_run": arguments.dry_run,
        "created": file is None,
        "bytes": len(data),
        "sha256_before": file.sha256 if file else "",
        "sha256_after": hash_bytes(data),
        "matches": applied,
        "added": change.added,
        "deleted": change.deleted,
        "diff": change.text,
    }
    return make_success(json.dumps(result, ensure_ascii=False), result)


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
