"""The editing tools of document 000.

Replace (whole file), Edit (one literal string) and MultiEdit (several, all or none).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import (
    load_for_edit,
    load_if_exists,
    path_exists,
    write_text_file,
)
from codekernel.agent.workspace.text_file import (
    CRLF,
    LF,
    TextFile,
    adapt_line_endings,
    convert_line_endings,
    detect_repository_line_ending,
    extend_over_newline,
    find_occurrences,
    format_line_counts,
    make_absolute,
    read_file_bytes,
    reject_surrogates,
    replace_spans,
)
from codekernel.domain.confined_path import ConfinedPath
from codekernel.domain.diff import compute_structured_patch
from codekernel.domain.folder_handle import is_regular_file
from codekernel.files.encodings import decode_text

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class ReplaceArguments:
    """What Replace takes.

    file_path: the file to write; its folders are made as needed
    content: the whole content of the file from now on
    """

    file_path: str
    content: str


@tool("Replace", ToolPermission.WRITES)
def replace(arguments: ReplaceArguments, context: ToolContext) -> ToolOutcome:
    """Writes a whole file: makes it, or replaces all of its content."""
    reject_surrogates(arguments.content)
    path, content = arguments.file_path, arguments.content
    file = load_if_exists(context, path)
    if file:
        content = content.removeprefix(_BOM) if file.encoding.bom else content
        content = adapt_line_endings(file.text, content)
    elif LF in content and detect_repository_line_ending(context.root, context.cancel) == CRLF:
        content = convert_line_endings(content, CRLF)
    write_text_file(context, replace.name, path, file, content)
    hunks = compute_structured_patch(file.text, content) if file and file.text else None
    data = {
        "type": "create" if hunks is None else "update",
        "filePath": make_absolute(context.root, path),
        "content": content,
        "structuredPatch": [hunk.to_json() for hunk in hunks or ()],
    }
    if hunks is None:
        return make_success(f"Created {path}.", data)
    return make_success(f"Updated {path}: {format_line_counts(hunks)}.", data)


NOTEBOOK_SUFFIX = ".ipynb"


@dataclass(frozen=True, slots=True)
class EditArguments:
    """What Edit takes.

    file_path: the file to change
    old_string: what to replace, to the letter, with enough lines around it to occur only once;
        empty to make a new file
    new_string: what to put there; empty to delete
    replace_all: replace every occurrence instead of the only one
    """

    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


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
    if not arguments.old_string and path_exists(context, path):
        raise ToolError(
            f"{path} exists already: an empty old_string makes a new file. Name the string to"
            " replace, or use Replace."
        )
    file = load_for_edit(context, path) if arguments.old_string else None
    before = file.text if file else ""
    after = _replace_string(before, arguments) if file else new
    write_text_file(context, edit.name, path, file, after)
    hunks = compute_structured_patch(before, after)
    data = {
        "filePath": make_absolute(context.root, path),
        "oldString": arguments.old_string,
        "newString": new,
        "originalFile": before,
        "structuredPatch": [hunk.to_json() for hunk in hunks],
    }
    return make_success(f"Edited {path}: {format_line_counts(hunks)}.", data)


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


# The most characters reported of a string that was not found, and of replaced ones.
_MAX_NOT_FOUND_CHARACTERS: Final = 50

_MAX_REPORTED_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True)
class StringEdit:
    """One of the edits.

    old_string: what to replace, to the letter; empty to put something in front of everything
    new_string: what to put there
    replace_all: replace every occurrence instead of the first
    """

    old_string: str
    new_string: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class MultiEditArguments:
    """What MultiEdit takes.

    file_path: the file to change, or to make in a folder that exists
    edits: done in this order, each on what the one before has left; a new file begins with an edit
        whose old_string is empty
    """

    file_path: str
    edits: list[StringEdit]


@tool("MultiEdit", ToolPermission.WRITES)
def multi_edit(arguments: MultiEditArguments, context: ToolContext) -> ToolOutcome:
    """Makes several changes to one file at once: all of them, or none if one fails.

    Each replaces the first occurrence of a string, or with replace_all every one.
    """
    try:
        return _apply_multi_edit(arguments, context)
    except _WordedToolError:
        raise
    except ToolError as error:
        raise ToolError(f"Error applying multi-edit: {error}") from error


class _WordedToolError(ToolError):
    """A failure that already reads as the document's clients expect."""


def _apply_multi_edit(arguments: MultiEditArguments, context: ToolContext) -> ToolOutcome:
    path, edits = arguments.file_path, arguments.edits
    file = _load_for_multi_edit(arguments, context)
    shown = context.root.format_path(file.path if file else context.root.resolve(path))
    before = file.text if file else ""
    after, occurrences = _apply_edits(before, edits, context.limits.max_file_bytes)
    write_text_file(context, multi_edit.name, path, file, after)
    hunks = compute_structured_patch(before, after)
    summary = f"Successfully applied {len(edits)} edits to {shown}"
    data = {
        "filePath": make_absolute(context.root, path),
        "wasNewFile": file is None,
        "editsApplied": [
            {
                "editIndex": number,
                "success": True,
                "old_string": edit.old_string[:_MAX_REPORTED_CHARACTERS],
                "new_string": edit.new_string[:_MAX_REPORTED_CHARACTERS],
                "occurrences": times,
            }
            for number, (edit, times) in enumerate(zip(edits, occurrences, strict=True), start=1)
        ],
        "totalEdits": len(edits),
        "summary": summary,
        "structuredPatch": [hunk.to_json() for hunk in hunks],
    }
    return make_success(f"{summary}: {format_line_counts(hunks)}.", data)


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
                return load_for_edit(context, path)
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
