"""edit_file: overwrite, append, prepend, or apply a patch of anchored hunks; all hunks or none."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import (
    create_text_file,
    encode_text,
    load_for_edit,
    path_exists,
    save_text_file,
)
from codekernel.agent.workspace.bounded_regex import find_spans
from codekernel.agent.workspace.regex_child import Span
from codekernel.agent.workspace.text_edit import CRLF, LF, EditableText, compute_diff
from codekernel.agent.workspace.text_file import TextFile, hash_bytes, reject_surrogates
from codekernel.protocol.tool_schema import PositiveInt, describe_argument

# So many places of an anchor that is not unique are named.
_MAX_LISTED_LINES = 10


@dataclass(frozen=True, slots=True)
class EditAnchor:
    """What a hunk is tied to."""

    type: Annotated[Literal["exact", "regex"], describe_argument("how the pattern is read")]
    pattern: Annotated[
        str,
        describe_argument(
            "text that stands in the file, or a Python regular expression (MULTILINE)"
        ),
    ]
    occurrence: Annotated[
        Literal["first", "last"], describe_argument("which match, if there are several")
    ] = "first"
    nth: Annotated[PositiveInt | None, describe_argument("the n-th match instead, from 1")] = None
    dotall: Annotated[bool, describe_argument("regex: the dot matches newlines too")] = False
    ignorecase: Annotated[bool, describe_argument("regex: capitals do not matter")] = False
    range: Annotated[
        tuple[int, int] | None, describe_argument("look only in these lines: [first, last], from 1")
    ] = None
    must_unique: Annotated[bool, describe_argument("fail if there are several matches")] = False


@dataclass(frozen=True, slots=True)
class EditHunk:
    """One change of a patch."""

    op: Annotated[
        Literal["replace", "insert_before", "insert_after", "delete"],
        describe_argument("what happens at the anchor"),
    ]
    anchor: EditAnchor
    content: Annotated[
        str | None, describe_argument("the new text; literally, nothing in it is expanded")
    ] = None
    must_unique: Annotated[bool, describe_argument("fail if there are several matches")] = False


@dataclass(frozen=True, slots=True)
class AppliedHunk:
    """Where a hunk was applied; ``line`` counts in the text before this hunk."""

    hunk: int
    op: str
    line: int
    count: int


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
        applied.append(AppliedHunk(number, hunk.op, line, count))
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
        raise ToolError(f"The anchor was not found{where}: {_format_pattern(anchor.pattern)}.")
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
        return _find_exact(text, anchor.pattern.replace(CRLF, LF))
    flags = re.MULTILINE
    flags |= re.DOTALL if anchor.dotall else re.NOFLAG
    flags |= re.IGNORECASE if anchor.ignorecase else re.NOFLAG
    return find_spans(anchor.pattern, int(flags), text, timeout_seconds)


def _find_exact(text: str, pattern: str) -> list[Span]:
    found: list[Span] = []
    place = text.find(pattern)
    while place >= 0:
        found.append((place, place + len(pattern)))
        place = text.find(pattern, place + len(pattern))
    return found


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


def _format_pattern(pattern: str) -> str:
    shown = pattern if len(pattern) <= 200 else pattern[:200] + "..."  # noqa: PLR2004 - a sentence
    return repr(shown)


OVERWRITE, APPEND, PREPEND, PATCH = "overwrite", "append", "prepend", "patch"


@dataclass(frozen=True, slots=True)
class EditPrecondition:
    """What must be true of the file before it is written."""

    file_sha256: Annotated[
        str | None, describe_argument("the sha256 of the whole file, as read_file gave it")
    ] = None


@dataclass(frozen=True, slots=True)
class EditFileArguments:
    """Which file, and how it changes."""

    path: Annotated[str, describe_argument("the file to change")]
    mode: Annotated[
        Literal["overwrite", "append", "prepend", "patch"],
        describe_argument("overwrite makes a file that is missing; patch applies hunks"),
    ] = "patch"
    content: Annotated[str | None, describe_argument("the text, in every mode but patch")] = None
    hunks: Annotated[
        tuple[EditHunk, ...],
        describe_argument("the changes of a patch, applied in order, all or none"),
    ] = ()
    precondition: Annotated[
        EditPrecondition | None, describe_argument("refuse if the file is another")
    ] = None
    dry_run: Annotated[bool, describe_argument("say what would change, and change nothing")] = False


@tool("edit_file", ToolPermission.WRITES)
def edit_file(arguments: EditFileArguments, context: ToolContext) -> ToolOutcome:
    """Change a file.

    Simple modes write a whole text (overwrite) or add one (append, prepend). Mode patch changes
    places that an anchor names: an exact text or a regular expression. Either all hunks are
    applied or none. Gives JSON with a diff.
    """
    _check_arguments(arguments)
    path = arguments.path
    if arguments.mode == OVERWRITE and not path_exists(context, path):
        context.root.resolve_for_write(path)
        _check_precondition(arguments, "")
        content = arguments.content or ""
        if not arguments.dry_run:
            create_text_file(context, edit_file.name, path, content)
        return _build_outcome(arguments, None, content, content.encode(), [])
    file = load_for_edit(context, path)
    _check_precondition(arguments, file.sha256)
    text, applied = _apply_edit(arguments, file, context.limits.timeout_seconds)
    outcome = _build_outcome(arguments, file, text, encode_text(file, text), applied)
    if not arguments.dry_run:
        save_text_file(context, edit_file.name, file, text)
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
    arguments: EditFileArguments, file: TextFile, timeout_seconds: float
) -> tuple[str, list[AppliedHunk]]:
    text = EditableText.from_text(file.text)
    if arguments.mode == PATCH:
        text, applied = apply_hunks(text, arguments.hunks, timeout_seconds)
        return text.text, applied
    own = text.adapt_line_endings(arguments.content or "")
    return {OVERWRITE: own, APPEND: file.text + own, PREPEND: own + file.text}[arguments.mode], []


def _build_outcome(
    arguments: EditFileArguments,
    file: TextFile | None,
    text: str,
    data: bytes,
    applied: Sequence[AppliedHunk],
) -> ToolOutcome:
    """Report the change of a file, or its creation if it is None."""
    change = compute_diff(arguments.path, file.text if file else "", text)
    result = {
        "path": arguments.path,
        "mode": arguments.mode,
        "dry_run": arguments.dry_run,
        "created": file is None,
        "bytes": len(data),
        "sha256_before": file.sha256 if file else "",
        "sha256_after": hash_bytes(data),
        "matches": [asdict(each) for each in applied],
        "added": change.added,
        "deleted": change.deleted,
        "diff": change.text,
    }
    return make_success(json.dumps(result, ensure_ascii=False), result)
