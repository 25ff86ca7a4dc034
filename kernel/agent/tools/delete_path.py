"""delete_path: a file or a whole folder, kept in the journal so that it can come back."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.failing import said_by_system
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about


@dataclass(frozen=True, slots=True)
class DeletePath:
    """Which one, and whether a folder is meant."""

    path: Annotated[str, about("the file, link or folder to delete")]
    recursive: Annotated[bool, about("must be true for a folder: all in it goes too")] = False


def _run(arguments: DeletePath, context: ToolContext) -> Outcome:
    path = arguments.path
    with context.root.reach_to_delete(path) as place:
        if place.status is None:
            raise ToolFailed(f"Path not found: {path}")
        if place.is_folder and not arguments.recursive:
            raise ToolFailed(f"{path} is a directory: set recursive to true to delete all in it.")
        try:
            context.journal.delete(TOOL.name, place)
        except OSError as error:
            raise ToolFailed(said_by_system(error, path)) from error
        kind = "directory recursively" if place.is_folder else "file"
    return done(f"Deleted {kind}: {path}", {"path": path})


TOOL = Tool(
    name="delete_path",
    purpose="Delete a file, or with recursive true a directory and everything in it.",
    arguments=DeletePath,
    danger=Danger.DELETES,
    run=_run,
)
