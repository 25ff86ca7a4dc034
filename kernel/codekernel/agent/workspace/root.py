"""The one folder that tools are confined to.

Resolves paths on open folder handles, so that no link or folder swapped meanwhile leads
outside, and protects .git.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.agent.tool_policy import ToolError, translate_os_errors
from codekernel.domain.confined_path import (
    MAX_LINKS,
    ConfinedPath,
    OutsideRootError,
    resolve_confined,
)
from codekernel.domain.folder_handle import FolderHandle
from codekernel.domain.untrusted_text import resolve_encoded_path

_UNC_PATH = re.compile(r"[\\/]{2}")

_DRIVE_LETTER = re.compile(r"[A-Za-z]:")

_IS_WINDOWS = os.name == "nt"

# What Windows and macOS take for .git: capitals, dots and blanks at the end, the short name, and
# characters that HFS+ does not see.
_INVISIBLE_CHARACTERS = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")

_GIT_NAMES = frozenset({".git", "git~1"})


@dataclass(frozen=True, slots=True)
class WorkspaceRoot:
    """``folder`` is real: absolute, without links. A root may lie ``within`` another one."""

    folder: Path
    parent: "WorkspaceRoot | None" = None

    @classmethod
    def from_path(cls, folder: Path) -> "WorkspaceRoot":
        """The root at a folder, however that is reached."""
        return cls(Path(os.path.realpath(folder)))

    def get_subroot(self, path: str) -> "WorkspaceRoot":
        """Return a root at a folder of this one, opened through it. Raises ToolError."""
        with self.reach(path) as place:
            if not place.is_folder:
                raise ToolError(f"There is no folder {path}.")
            return self if place.path == self.folder else WorkspaceRoot(place.path, parent=self)

    def open_folder(self) -> FolderHandle:
        """Open the root folder. Raises OSError, ToolError."""
        if self.parent is None:
            return FolderHandle.open(self.folder)
        with self.parent.reach_real(self.folder) as place:
            return place.open_folder()

    def reach(self, path: str, *, follow: bool = True) -> ConfinedPath:
        """Resolve a path with its links, whether or not it exists; to be closed.

        Without ``follow`` a link at the end is returned itself. Raises ToolError if the path leads
        outside the root.
        """
        return self._reach_confined(
            path, self._check_path(path), follow=follow, max_links=MAX_LINKS
        )

    def reach_real(self, path: Path) -> ConfinedPath:
        """Open a path that had no links in it. Raises ToolError if it has some now."""
        shown = self.format_path(path)
        return self._reach_confined(shown, shown, follow=False, max_links=0)

    @contextmanager
    def reach_to_write(self, path: str) -> Iterator[ConfinedPath]:
        """Where a path leads, if files may be made or changed there."""
        with self.reach(path) as place:
            _reject_git_files(path, place)
            yield place

    @contextmanager
    def reach_to_delete(self, path: str) -> Iterator[ConfinedPath]:
        """What a path names, if that may be deleted."""
        with self.reach(path, follow=False) as place:
            _reject_git_files(path, place)
            if not place.parts:
                raise ToolError("The root of the repository itself cannot be deleted.")
            yield place

    def resolve(self, path: str) -> Path:
        """Return the real path, for display. Raises ToolError if it is outside the root."""
        with self.reach(path) as place:
            return place.path

    def format_path(self, path: Path) -> str:
        """A path inside the root as people and models write it."""
        try:
            return path.relative_to(self.folder).as_posix()
        except ValueError:
            return path.name

    def _reach_confined(
        self, path: str, checked: str, *, follow: bool, max_links: int
    ) -> ConfinedPath:
        with translate_os_errors(path):
            try:
                return resolve_confined(
                    self.open_folder(), self.folder, checked, follow=follow, max_links=max_links
                )
            except OutsideRootError as error:
                raise _build_outside_error(path) from error

    def _check_path(self, path: str) -> str:
        if not path:
            raise ToolError("The path is empty: name a file or folder of the repository.")
        path = resolve_encoded_path(self.folder, path)
        if "\0" in path:
            raise ToolError("The path has a NUL character in it, as no path has.")
        try:
            os.fsencode(path)
        except UnicodeEncodeError as error:
            raise ToolError("The path has characters in it that no file name has.") from error
        may_be_inside = _IS_WINDOWS and path[2:3] in {"/", "\\"}
        if _UNC_PATH.match(path) or (_DRIVE_LETTER.match(path) and not may_be_inside):
            raise _build_outside_error(path)
        if _IS_WINDOWS and ":" in _DRIVE_LETTER.sub("", path, count=1):
            raise ToolError(f"{path} is no path of a file: there is a colon in it.")
        return path


def _reject_git_files(path: str, place: ConfinedPath) -> None:
    plain = (_INVISIBLE_CHARACTERS.sub("", name).rstrip(". ").lower() for name in place.parts)
    if not _GIT_NAMES.isdisjoint(plain):
        raise ToolError(
            f"{path} belongs to git, whose own files are not written here: use git commands."
        )


def _build_outside_error(path: str) -> ToolError:
    return ToolError(f"Access denied: {path} is outside the repository. Use a path inside it.")


@contextmanager
def open_working_folder(root: WorkspaceRoot, path: str) -> Iterator[Path]:
    """Return a path of an open folder, to start a child process in. Raises ToolError, OSError."""
    with root.reach(path) as place:
        if not place.is_folder:
            raise ToolError(f"There is no folder {path} to run something in.")
        with place.open_folder() as folder:
            yield folder.path_for_child(place.path)
