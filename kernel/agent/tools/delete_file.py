"""delete_file: one file or link, kept in the journal so that it can come back."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.failing import said_by_system
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Which one."""

    path: Annotated[str, about("the file or link to delete; of a link, the link itself")]


def _run(arguments: DeleteFile, context: ToolContext) -> Outcome:
    path = arguments.path
    with context.root.reach_to_delete(path) as place:
        if place.status is None:
            raise ToolFailed(f"File not found: {path}")
        if place.is_folder:
            raise ToolFailed(f"{path} is a directory: use delete_path with recursive true.")
        try:
            context.journal.delete(TOOL.name, place)
        except OSError as error:
            raise ToolFailed(said_by_system(error, path)) from error
    return done(f"Deleted file: {path}", {"path": path})


TOOL = Tool(
    name="delete_file",
    purpose="Delete a single file or symbolic link. Not for directories.",
    arguments=DeleteFile,
    danger=Danger.DELETES,
    run=_run,
)
