"""create_file: a new file, with the folders on the way to it."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.files import create, exists
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Where, and what is in it."""

    path: Annotated[str, about("the file to make")]
    content: Annotated[str, about("its text, written exactly so, in UTF-8")]


def _run(arguments: CreateFile, context: ToolContext) -> Outcome:
    path = arguments.path
    if exists(context, path):
        raise ToolFailed(f"File already exists: {path}. Use edit_file to change it.")
    saved = create(context, TOOL.name, path, arguments.content)
    lines = arguments.content.count("\n") + (not arguments.content.endswith("\n"))
    data = {"path": path, "lines": lines, "bytes": saved.size, "sha256": saved.sha256_after}
    return done(f"Created {path} ({saved.size} bytes)", data)


TOOL = Tool(
    name="create_file",
    purpose="Create a new file. Fails if there is one already: use edit_file to change it.",
    arguments=CreateFile,
    danger=Danger.WRITES,
    run=_run,
)
