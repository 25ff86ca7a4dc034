"""mkdir: a new folder, with those on the way to it."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.failing import said_by_system
from kernel.agent.files import missing_folders
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about


@dataclass(frozen=True, slots=True)
class MakeFolder:
    """Where."""

    path: Annotated[str, about("the folder to make")]
    parents: Annotated[bool, about("make the folders on the way too")] = True
    exist_ok: Annotated[bool, about("a folder that is there already is no error")] = False


def _run(arguments: MakeFolder, context: ToolContext) -> Outcome:
    path = arguments.path
    with context.root.reach_to_write(path) as place:
        if place.status is not None:
            if arguments.exist_ok and place.is_folder:
                return done(f"Directory already exists: {path}", {"path": path})
            kind = "Directory" if place.is_folder else "File"
            raise ToolFailed(f"{kind} already exists: {path}")
        if place.missing and not arguments.parents:
            raise ToolFailed(f"The parent of {path} does not exist: set parents to true.")
        folders = (*missing_folders(place), place.path)
        try:
            with context.journal.making(TOOL.name, folders), place.folders_made(place.name):
                pass
        except OSError as error:
            raise ToolFailed(said_by_system(error, path)) from error
    return done(f"Created directory: {path}", {"path": path})


TOOL = Tool(
    name="mkdir",
    purpose="Create a directory, with its parents if needed.",
    arguments=MakeFolder,
    danger=Danger.WRITES,
    run=_run,
)
