"""MultiEdit: several strings of one file become others, all of them or none (document 000)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from kernel.agent import files
from kernel.agent.line_ends import CRLF, LF
from kernel.agent.literal_edit import own, places, replaced
from kernel.agent.text_file import TextFile, must_be_text, read_bytes
from kernel.agent.told_edits import counted, whole_path
from kernel.agent.tool import Danger, Outcome, Tool, ToolContext, ToolFailed
from kernel.agent.tools.edit import NOTEBOOK_SUFFIX
from kernel.domain.confinement.beneath import Place
from kernel.domain.confinement.folder_handle import is_regular_file
from kernel.domain.hunks import structured_patch
from kernel.protocol.tool_arguments import about
from kernel.walking.encodings import decode

NAME = "MultiEdit"
# Of a string that was not found, and of those that were replaced, so much is told.
_NOT_FOUND_CHARACTERS: Final = 50
_TOLD_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True)
class Change:
    """One of the edits."""

    old_string: Annotated[
        str, about("what to replace, to the letter; empty to put something in front of everything")
    ]
    new_string: Annotated[str, about("what to put there")]
    replace_all: Annotated[bool, about("replace every occurrence instead of the first")] = False


@dataclass(frozen=True, slots=True)
class Arguments:
    """What MultiEdit takes."""

    file_path: Annotated[str, about("the file to change, or to make in a folder that exists")]
    edits: Annotated[
        list[Change],
        about("done in this order, each on what the one before has left; a new file begins with"
              " an edit whose old_string is empty"),
    ]  # fmt: skip


def run(arguments: Arguments, context: ToolContext) -> Outcome:
    """Do every edit in memory, then write once; the first that fails leaves the file alone."""
    try:
        file = _loaded(arguments, context)
    except ToolFailed as error:
        raise _reported(error) from error
    shown = context.root.shown(file.path if file else context.root.path(arguments.file_path))
    before = file.text if file else ""
    after, occurrences = _edited(before, arguments.edits, context.limits.file_bytes)
    try:
        if file:
            files.save(context, NAME, file, after)
        else:
            files.create(context, NAME, arguments.file_path, after)
    except ToolFailed as error:
        raise _reported(error) from error
    return _told(arguments, context, _Done(shown, file is None, before, after, occurrences))


@dataclass(frozen=True, slots=True)
class _Done:
    shown: str
    is_new: bool
    before: str
    after: str
    occurrences: Sequence[int]


class _Worded(ToolFailed):
    """A failure that already reads as the document's clients expect."""


def _reported(error: ToolFailed) -> ToolFailed:
    return error if isinstance(error, _Worded) else _Worded(f"Error applying multi-edit: {error}")


def _loaded(arguments: Arguments, context: ToolContext) -> TextFile | None:
    """The file to change; None for one to make."""
    path = arguments.file_path
    if not arguments.edits:
        raise ToolFailed("edits is empty: there is nothing to do.")
    if path.lower().endswith(NOTEBOOK_SUFFIX):
        raise ToolFailed(f"{path} is a notebook: use NotebookEditCell to change its cells.")
    with context.root.reach_to_write(path) as place:
        if place.status is not None:
            try:
                return files.load_to_write(context, path)
            except ToolFailed as error:
                if _is_binary(place, path, context):
                    raise _Worded("Error: Cannot edit binary files") from error
                raise
        if arguments.edits[0].old_string:
            raise ToolFailed(f"File not found: {path}. To make it, begin with an empty old_string.")
        if place.missing or place.error:
            raise ToolFailed(f"The folder of {path} does not exist: make it first.")
    return None


def _is_binary(place: Place, path: str, context: ToolContext) -> bool:
    if not is_regular_file(place.must_exist()):
        return False
    data, _ = read_bytes(place, path, context.limits.file_bytes)
    return decode(data) is None


def _edited(text: str, edits: Sequence[Change], limit: int) -> tuple[str, list[int]]:
    """The text after all edits, and how often each of them was done."""
    initial, occurrences = text, []
    for number, edit in enumerate(edits, start=1):
        _must_make_sense(edit, number)
        found = places(text, edit.old_string) if edit.old_string else [(0, 0)]
        # What an earlier edit took away is done with; what never was there is a mistake.
        gone_meanwhile = edit.replace_all and bool(places(initial, edit.old_string))
        if not found and not gone_meanwhile:
            start = edit.old_string[:_NOT_FOUND_CHARACTERS]
            raise _Worded(f"Error in edit {number}: String not found: {start}...")
        chosen = found if edit.replace_all else found[:1]
        if len(text) + len(chosen) * len(edit.new_string) > limit:
            raise _Worded(f"Error in edit {number}: the file would become too large")
        text = replaced(text, chosen, own(initial, edit.new_string))
        occurrences.append(len(chosen))
    return text, occurrences


def _must_make_sense(edit: Change, number: int) -> None:
    try:
        must_be_text(edit.new_string, "new_string")
    except ToolFailed as error:
        raise _Worded(f"Error in edit {number}: {error}") from error
    if edit.old_string.replace(CRLF, LF) == edit.new_string.replace(CRLF, LF):
        raise _Worded(f"Error in edit {number}: old_string and new_string are the same")
    if edit.replace_all and not edit.old_string:
        raise _Worded(f"Error in edit {number}: replace_all needs an old_string")


def _told(arguments: Arguments, context: ToolContext, done: _Done) -> Outcome:
    hunks = structured_patch(done.before, done.after)
    total = len(arguments.edits)
    summary = f"Successfully applied {total} edits to {done.shown}"
    data = {
        "filePath": whole_path(context.root, arguments.file_path),
        "wasNewFile": done.is_new,
        "editsApplied": [
            _applied(number, edit, times)
            for number, (edit, times) in enumerate(
                zip(arguments.edits, done.occurrences, strict=True), start=1
            )
        ],
        "totalEdits": total,
        "summary": summary,
        "structuredPatch": [hunk.described() for hunk in hunks],
    }
    return Outcome(success=True, text=f"{summary}: {counted(hunks)}.", data=data)


def _applied(number: int, edit: Change, times: int) -> dict[str, Any]:
    return {
        "editIndex": number,
        "success": True,
        "old_string": edit.old_string[:_TOLD_CHARACTERS],
        "new_string": edit.new_string[:_TOLD_CHARACTERS],
        "occurrences": times,
    }


TOOL = Tool(
    NAME,
    "Makes several changes to one file at once: all of them, or none if one fails. Each replaces"
    " the first occurrence of a string, or with replace_all every one.",
    Arguments,
    Danger.WRITES,
    run,
)
