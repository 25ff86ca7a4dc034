"""The folder in which a command is started: the one that was opened, not what its path leads to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.agent.failing import ToolFailed
from kernel.agent.root import Root


@contextmanager
def folder_to_run_in(root: Root, path: str) -> Iterator[Path]:
    """A path of an open folder, for the start of a child process. Raises ToolFailed, OSError."""
    with root.reach(path) as place:
        if not place.is_folder:
            raise ToolFailed(f"There is no folder {path} to run something in.")
        with place.open_folder() as folder:
            yield folder.path_for_child(place.path)
