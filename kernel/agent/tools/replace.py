"""Replace: a file's whole content, new or in place of another one (document 000)."""

from dataclasses import dataclass
from typing import Annotated, Any

from kernel.agent import files
from kernel.agent.line_ends import LF, with_line_ends
from kernel.agent.literal_edit import own
from kernel.agent.text_file import TextFile, must_be_text
from kernel.agent.told_edits import counted, whole_path
from kernel.agent.tool import Danger, Outcome, Tool, ToolContext
from kernel.agent.usual_line_end import usual_line_end
from kernel.domain.hunks import Hunk, structured_patch
from kernel.protocol.tool_arguments import about

NAME = "Replace"
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Arguments:
    """What Replace takes."""

    file_path: Annotated[str, about("the file to write; its folders are made as needed")]
    content: Annotated[str, about("the whole content of the file from now on")]


def run(arguments: Arguments, context: ToolContext) -> Outcome:
    """Write the file; one that was empty or absent counts as created."""
    must_be_text(arguments.content)
    if not files.exists(context, arguments.file_path):
        return _created(arguments, context)
    file = files.load_to_write(context, arguments.file_path)
    content = _in_place_of(file, arguments.content)
    files.save(context, NAME, file, content)
    if not file.text:
        return _told(arguments, context, content)
    hunks = structured_patch(file.text, content)
    return _told(arguments, context, content, hunks)


def _created(arguments: Arguments, context: ToolContext) -> Outcome:
    content = arguments.content
    if LF in content:
        line_end = usual_line_end(context.root, context.cancel)
        content = content if line_end == LF else with_line_ends(content, line_end)
    files.create(context, NAME, arguments.file_path, content)
    return _told(arguments, context, content)


def _in_place_of(file: TextFile, content: str) -> str:
    """The content with the line ends of the file; its byte order mark is not written twice."""
    if file.encoding.mark:
        content = content.removeprefix(_MARK)
    return own(file.text, content)


def _told(
    arguments: Arguments, context: ToolContext, content: str, hunks: list[Hunk] | None = None
) -> Outcome:
    data: dict[str, Any] = {
        "type": "create" if hunks is None else "update",
        "filePath": whole_path(context.root, arguments.file_path),
        "content": content,
        "structuredPatch": [hunk.described() for hunk in hunks or ()],
    }
    text = (
        f"Created {arguments.file_path}."
        if hunks is None
        else f"Updated {arguments.file_path}: {counted(hunks)}."
    )
    return Outcome(success=True, text=text, data=data)


TOOL = Tool(
    NAME,
    "Writes a whole file: makes it, or replaces all of its content.",
    Arguments,
    Danger.WRITES,
    run,
)
