"""The editing tools of document 000.

Replace (whole file), Edit (one literal string) and MultiEdit (several, all or none).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from codekernel.agent.tool import ToolContext, ToolOutcome, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools import file_access
from codekernel.agent.workspace.text_edit import (
    CRLF,
    LF,
    adapt_line_endings,
    convert_line_endings,
    detect_repository_line_ending,
    extend_over_newline,
    find_occurrences,
    format_line_counts,
    make_absolute,
    replace_spans,
)
from codekernel.agent.workspace.text_file import TextFile, read_file_bytes, reject_surrogates
from codekernel.domain.confinement.confined_path import ConfinedPath
from codekernel.domain.confinement.folder_handle import is_regular_file
from codekernel.domain.diff import DiffHunk, compute_structured_patch
from codekernel.files.encodings import decode_text
from codekernel.protocol.tool_schema import describe_argument

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class ReplaceArguments:
    """What Replace takes."""

    file_path: Annotated[
        str, describe_argument("the file to write; its folders are made as needed")
    ]
    content: Annotated[str, describe_argument("the whole content of the file from now on")]


@tool("Replace", ToolPermission.WRITES)
def replace(arguments: ReplaceArguments, context: ToolContext) -> ToolOutcome:
    """Writes a whole file: makes it, or replaces all of its content."""
    reject_surrogates(arguments.content)
    if not file_access.path_exists(context, arguments.file_path):
        return _create_for_replace(arguments, context)
    file = file_access.load_for_edit(context, arguments.file_path)
    content = _adapt_to_file(file, arguments.content)
    file_access.save_text_file(context, replace.name, file, content)
    if not file.text:
        return _build_replace_outcome(arguments, context, content)
    hunks = compute_structured_patch(file.text, content)
    return _build_replace_outcome(arguments, context, content, hunks)


def _create_for_replace(arguments: ReplaceArguments, context: ToolContext) -> ToolOutcome:
    content = arguments.content
    if LF in content:
        line_end = detect_repository_line_ending(context.root, context.cancel)
        content = content if line_end == LF else convert_line_endings(content, line_end)
    file_access.create_text_file(context, replace.name, arguments.file_path, content)
    return _build_replace_outcome(arguments, context, content)


def _adapt_to_file(file: TextFile, content: str) -> str:
    """The content with the line ends of the file; its byte order mark is not written twice."""
    if file.encoding.bom:
        content = content.removeprefix(_BOM)
    return adapt_line_endings(file.text, content)


def _build_replace_outcome(
    arguments: ReplaceArguments,
    context: ToolContext,
    content: str,
    hunks: list[DiffHunk] | None = None,
) -> ToolOutcome:
    data: dict[str, Any] = {
        "type": "create" if hunks is None else "update",
        "filePath": make_absolute(context.root, arguments.file_path),
        "content": content,
        "structuredPatch": [hunk.to_json() for hunk in hunks or ()],
    }
    text = (
        f"Created {arguments.file_path}."
        if hunks is None
        else f"Updated {arguments.file_path}: {format_line_counts(hunks)}."
    )
    return ToolOutcome(success=True, text=text, data=data)


NOTEBOOK_SUFFIX = ".ipynb"


@dataclass(frozen=True, slots=True)
class EditArguments:
    """What Edit takes."""

    file_path: Annotated[str, describe_argument("the file to change")]
    old_string: Annotated[
        str,
        describe_argument(
            "what to replace, to the letter, with enough lines around it to occur only once;"
            " empty to make a new file"
        ),
    ]
    new_string: Annotated[str, describe_argument("what to put there; empty to delete")]
    replace_all: Annotated[
        bool, describe_argument("replace every occurrence instead of the only one")
    ] = False


@tool("Edit", ToolPermission.WRITES)
def edit(arguments: EditArguments, context: ToolContext) -> ToolOutcome:
    """Replaces one string of a file by another, to the letter.

    The string must occur exactly once. For several changes of one file use MultiEdit.
    """
    path, new = arguments.file_path, arguments.new_string
    reject_surrogates(new, "new_string")
    if arguments.old_string.replace(CRLF, LF) == new.replace(CRLF, LF):
        raise ToolError("Nothing to change: old_string and new_string are the same.")
    if path.lower().endswith(NOTEBOOK_SUFFIX):
        raise ToolError(f"{path} is a notebook: use NotebookEditCell to change its cells.")
    if not arguments.old_string:
        return _create_for_edit(arguments, context)
    file = file_access.load_for_edit(context, path)
    after = _replace_string(file.text, arguments)
    file_access.save_text_file(context, edit.name, file, after)
    return _build_edit_outcome(arguments, context, file.text, after)


def _create_for_edit(arguments: EditArguments, context: ToolContext) -> ToolOutcome:
    if file_access.path_exists(context, arguments.file_path):
        raise ToolError(
            f"{arguments.file_path} exists already: an empty old_string makes a new file. Name the"
            " string to replace, or use Replace."
        )
    file_access.create_text_file(context, edit.name, arguments.file_path, arguments.new_string)
    return _build_edit_outcome(arguments, context, "", arguments.new_string)


def _replace_string(text: str, arguments: EditArguments) -> str:
    found = find_occurrences(text, arguments.old_string)
    if not found:
        raise ToolError(f"old_string does not occur in {arguments.file_path}: read it again.")
    if len(found) > 1 and not arguments.replace_all:
        raise ToolError(
            f"old_string occurs {len(found)} times in {arguments.file_path}: add lines around it"
            " until it is unique."
        )
    if not arguments.new_string and not arguments.old_string.endswith(LF):
        found = [extend_over_newline(text, span) for span in found]
    return replace_spans(text, found, adapt_line_endings(text, arguments.new_string))


def _build_edit_outcome(
    arguments: EditArguments, context: ToolContext, before: str, after: str
) -> ToolOutcome:
    hunks = compute_structured_patch(before, after)
    data = {
        "filePath": make_absolute(context.root, arguments.file_path),
        "oldString": arguments.old_string,
        "newString": arguments.new_string,
        "originalFile": before,
        "structuredPatch": [hunk.to_json() for hunk in hunks],
    }
    return ToolOutcome(
        success=True, text=f"Edited {arguments.file_path}: {format_line_counts(hunks)}.", data=data
    )


# The most characters reported of a string that was not found, and of replaced ones.
_MAX_NOT_FOUND_CHARACTERS: Final = 50

_MAX_REPORTED_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True)
class StringEdit:
    """One of the edits."""

    old_string: Annotated[
        str,
        describe_argument(
            "what to replace, to the letter; empty to put something in front of everything"
        ),
    ]
    new_string: Annotated[str, describe_argument("what to put there")]
    replace_all: Annotated[
        bool, describe_argument("replace every occurrence instead of the first")
    ] = False


@dataclass(frozen=True, slots=True)
class MultiEditArguments:
    """What MultiEdit takes."""

    file_path: Annotated[
        str, describe_argument("the file to change, or to make in a folder that exists")
    ]
    edits: Annotated[
        list[StringEdit],
        describe_argument("done in this order, each on what the one before has left; a "
                          "new file begins with"
              " an edit whose old_string is empty"),
    ]  # fmt: skip


@tool("MultiEdit", ToolPermission.WRITES)
def multi_edit(arguments: MultiEditArguments, context: ToolContext) -> ToolOutcome:
    """Makes several changes to one file at once: all of them, or none if one fails.

    Each replaces the first occurrence of a string, or with replace_all every one.
    """
    try:
        file = _load_for_multi_edit(arguments, context)
    except ToolError as error:
        raise _add_error_prefix(error) from error
    shown = context.root.format_path(
        file.path if file else context.root.resolve(arguments.file_path)
    )
    before = file.text if file else ""
    after, occurrences = _apply_edits(before, arguments.edits, context.limits.max_file_bytes)
    try:
        if file:
            file_access.save_text_file(context, multi_edit.name, file, after)
        else:
            file_access.create_text_file(context, multi_edit.name, arguments.file_path, after)
    except ToolError as error:
        raise _add_error_prefix(error) from error
    return _build_multi_edit_outcome(
        arguments, context, _MultiEditResult(shown, file is None, before, after, occurrences)
    )


@dataclass(frozen=True, slots=True)
class _MultiEditResult:
    display_path: str
    is_new: bool
    before: str
    after: str
    occurrences: Sequence[int]


class _WordedToolError(ToolError):
    """A failure that already reads as the document's clients expect."""


def _add_error_prefix(error: ToolError) -> ToolError:
    return (
        error
        if isinstance(error, _WordedToolError)
        else _WordedToolError(f"Error applying multi-edit: {error}")
    )


def _load_for_multi_edit(arguments: MultiEditArguments, context: ToolContext) -> TextFile | None:
    """The file to change; None for one to make."""
    path = arguments.file_path
    if not arguments.edits:
        raise ToolError("edits is empty: there is nothing to do.")
    if path.lower().endswith(NOTEBOOK_SUFFIX):
        raise ToolError(f"{path} is a notebook: use NotebookEditCell to change its cells.")
    with context.root.reach_to_write(path) as place:
        if place.status is not None:
            try:
                return file_access.load_for_edit(context, path)
            except ToolError as error:
                if _is_binary_file(place, path, context):
                    raise _WordedToolError("Error: Cannot edit binary files") from error
                raise
        if arguments.edits[0].old_string:
            raise ToolError(f"File not found: {path}. To make it, begin with an empty old_string.")
        if place.missing or place.error:
            raise ToolError(f"The folder of {path} does not exist: make it first.")
    return None


def _is_binary_file(place: ConfinedPath, path: str, context: ToolContext) -> bool:
    if not is_regular_file(place.require_status()):
        return False
    data, _ = read_file_bytes(place, path, context.limits.max_file_bytes)
    return decode_text(data) is None


def _apply_edits(text: str, edits: Sequence[StringEdit], limit: int) -> tuple[str, list[int]]:
    """The text after all edits, and how often each of them was done."""
    initial, occurrences = text, []
    for number, edit in enumerate(edits, start=1):
        _check_edit(edit, number)
        found = find_occurrences(text, edit.old_string) if edit.old_string else [(0, 0)]
        # What an earlier edit took away is done with; what never was there is a mistake.
        gone_meanwhile = edit.replace_all and bool(find_occurrences(initial, edit.old_string))
        if not found and not gone_meanwhile:
            start = edit.old_string[:_MAX_NOT_FOUND_CHARACTERS]
            raise _WordedToolError(f"Error in edit {number}: String not found: {start}...")
        chosen = found if edit.replace_all else found[:1]
        if len(text) + len(chosen) * len(edit.new_string) > limit:
            raise _WordedToolError(f"Error in edit {number}: the file would become too large")
        text = replace_spans(text, chosen, adapt_line_endings(initial, edit.new_string))
        occurrences.append(len(chosen))
    return text, occurrences


def _check_edit(edit: StringEdit, number: int) -> None:
    try:
        reject_surrogates(edit.new_string, "new_string")
    except ToolError as error:
        raise _WordedToolError(f"Error in edit {number}: {error}") from error
    if edit.old_string.replace(CRLF, LF) == edit.new_string.replace(CRLF, LF):
        raise _WordedToolError(f"Error in edit {number}: old_string and new_string are the same")
    if edit.replace_all and not edit.old_string:
        raise _WordedToolError(f"Error in edit {number}: replace_all needs an old_string")


def _build_multi_edit_outcome(
    arguments: MultiEditArguments, context: ToolContext, done: _MultiEditResult
) -> ToolOutcome:
    hunks = compute_structured_patch(done.before, done.after)
    total = len(arguments.edits)
    summary = f"Successfully applied {total} edits to {done.display_path}"
    data = {
        "filePath": make_absolute(context.root, arguments.file_path),
        "wasNewFile": done.is_new,
        "editsApplied": [
            _applied_edit_to_dict(number, edit, times)
            for number, (edit, times) in enumerate(
                zip(arguments.edits, done.occurrences, strict=True), start=1
            )
        ],
        "totalEdits": total,
        "summary": summary,
        "structuredPatch": [hunk.to_json() for hunk in hunks],
    }
    return ToolOutcome(success=True, text=f"{summary}: {format_line_counts(hunks)}.", data=data)


def _applied_edit_to_dict(number: int, edit: StringEdit, times: int) -> dict[str, Any]:
    return {
        "editIndex": number,
        "success": True,
        "old_string": edit.old_string[:_MAX_REPORTED_CHARACTERS],
        "new_string": edit.new_string[:_MAX_REPORTED_CHARACTERS],
        "occurrences": times,
    }
