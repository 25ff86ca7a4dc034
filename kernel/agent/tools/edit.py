"""Edit: one string of a file becomes another (document 000)."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent import files
from kernel.agent.line_ends import CRLF, LF
from kernel.agent.literal_edit import own, places, replaced, with_newline_after
from kernel.agent.text_file import must_be_text
from kernel.agent.told_edits import counted, whole_path
from kernel.agent.tool import Danger, Outcome, Tool, ToolContext, ToolFailed
from kernel.domain.hunks import structured_patch
from kernel.protocol.tool_arguments import about

NAME = "Edit"
NOTEBOOK_SUFFIX = ".ipynb"


@dataclass(frozen=True, slots=True)
class Arguments:
    """What Edit takes."""

    file_path: Annotated[str, about("the file to change")]
    old_string: Annotated[
        str,
        about(
            "what to replace, to the letter, with enough lines around it to occur only once;"
            " empty to make a new file"
        ),
    ]
    new_string: Annotated[str, about("what to put there; empty to delete")]
    replace_all: Annotated[bool, about("replace every occurrence instead of the only one")] = False


def run(arguments: Arguments, context: ToolContext) -> Outcome:
    """Replace the one occurrence, or make a file if there is nothing to replace."""
    path, new = arguments.file_path, arguments.new_string
    must_be_text(new, "new_string")
    if arguments.old_string.replace(CRLF, LF) == new.replace(CRLF, LF):
        raise ToolFailed("Nothing to change: old_string and new_string are the same.")
    if path.lower().endswith(NOTEBOOK_SUFFIX):
        raise ToolFailed(f"{path} is a notebook: use NotebookEditCell to change its cells.")
    if not arguments.old_string:
        return _created(arguments, context)
    file = files.load_to_write(context, path)
    after = _edited(file.text, arguments)
    files.save(context, NAME, file, after)
    return _told(arguments, context, file.text, after)


def _created(arguments: Arguments, context: ToolContext) -> Outcome:
    if files.exists(context, arguments.file_path):
        raise ToolFailed(
            f"{arguments.file_path} exists already: an empty old_string makes a new file. Name the"
            " string to replace, or use Replace."
        )
    files.create(context, NAME, arguments.file_path, arguments.new_string)
    return _told(arguments, context, "", arguments.new_string)


def _edited(text: str, arguments: Arguments) -> str:
    found = places(text, arguments.old_string)
    if not found:
        raise ToolFailed(f"old_string does not occur in {arguments.file_path}: read it again.")
    if len(found) > 1 and not arguments.replace_all:
        raise ToolFailed(
            f"old_string occurs {len(found)} times in {arguments.file_path}: add lines around it"
            " until it is unique."
        )
    if not arguments.new_string and not arguments.old_string.endswith(LF):
        found = [with_newline_after(text, span) for span in found]
    return replaced(text, found, own(text, arguments.new_string))


def _told(arguments: Arguments, context: ToolContext, before: str, after: str) -> Outcome:
    hunks = structured_patch(before, after)
    data = {
        "filePath": whole_path(context.root, arguments.file_path),
        "oldString": arguments.old_string,
        "newString": arguments.new_string,
        "originalFile": before,
        "structuredPatch": [hunk.described() for hunk in hunks],
    }
    return Outcome(success=True, text=f"Edited {arguments.file_path}: {counted(hunks)}.", data=data)


TOOL = Tool(
    NAME,
    "Replaces one string of a file by another, to the letter. The string must occur exactly once."
    " For several changes of one file use MultiEdit.",
    Arguments,
    Danger.WRITES,
    run,
)
