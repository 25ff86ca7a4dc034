"""An agent that must look at a file before it changes it: an option of this door."""

import os
from dataclasses import dataclass
from pathlib import Path

from kernel.agent.arguments import decoded
from kernel.agent.danger import Danger, Permissions, Wish
from kernel.agent.failing import ToolFailed
from kernel.agent.registry import Registry
from kernel.agent.root import Root
from kernel.agent.seen import Seen

# Under which names the tools of the document take the file that they change.
_PATH_FIELDS = ("file_path", "notebook_path")


@dataclass(frozen=True, slots=True)
class ReadFirst:
    """Somebody else's permissions, and no change of a file that is not known as it is now."""

    permissions: Permissions
    registry: Registry
    root: Root
    seen: Seen

    def refusal(self, wish: Wish) -> str | None:
        """Why not, if the file was not read or has changed since."""
        changed = self._changed_file(wish)
        if changed is not None and not self.seen.knows(changed[0]):
            return "File has not been read yet. Read it first before writing to it."
        if changed is not None and self.seen.is_stale(*changed):
            return "File has been modified since it was read. Read it again before writing to it."
        return self.permissions.refusal(wish)

    def _changed_file(self, wish: Wish) -> tuple[Path, os.stat_result] | None:
        """The file that is there and would be changed, and its state; None if there is none."""
        given = wish.arguments
        if wish.danger is not Danger.WRITES or not isinstance(given, dict | str | bytes):
            return None
        try:
            arguments = decoded(self.registry[wish.tool].arguments, given)
            paths = (getattr(arguments, field, None) for field in _PATH_FIELDS)
            path = next(filter(None, paths), None)
            if not path:
                return None
            with self.root.reach(path) as place:
                return (place.path, place.status) if place.status else None
        except ToolFailed:  # the tool itself will say so
            return None
