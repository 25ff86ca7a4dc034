"""The one folder that tools may touch: what a path means in it, and which paths leave it.

A path is walked on open folders (``domain/confinement/``), so that it cannot leave the root even if
others swap folders for links meanwhile; what is said of a path that leaves the root does not depend
on what lies there.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel.agent.failing import ToolFailed, said_by_system
from kernel.domain.confinement.beneath import MAX_LINKS, LeavesRoot, Place, reach
from kernel.domain.confinement.folder_handle import FolderHandle
from kernel.domain.path_text import existing_path

_UNC = re.compile(r"[\\/]{2}")
_DRIVE = re.compile(r"[A-Za-z]:")
_WINDOWS = os.name == "nt"
# What Windows and macOS take for .git: capitals, dots and blanks at the end, the short name, and
# characters that HFS+ does not see.
_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_GIT_NAMES = frozenset({".git", "git~1"})


@dataclass(frozen=True, slots=True)
class Root:
    """``folder`` is real: absolute, without links. A root may lie ``within`` another one."""

    folder: Path
    within: "Root | None" = None

    @classmethod
    def at(cls, folder: Path) -> "Root":
        """The root at a folder, however that is reached."""
        return cls(Path(os.path.realpath(folder)))

    def root_at(self, path: str) -> "Root":
        """A root at a folder of this one, opened through it. Raises ToolFailed."""
        with self.reach(path) as place:
            if not place.is_folder:
                raise ToolFailed(f"There is no folder {path}.")
            return self if place.path == self.folder else Root(place.path, within=self)

    def opened(self) -> FolderHandle:
        """Hold the folder itself. Raises OSError, ToolFailed."""
        if self.within is None:
            return FolderHandle.open(self.folder)
        with self.within.reach_real(self.folder) as place:
            return place.open_folder()

    @contextmanager
    def reach(self, path: str, *, follow: bool = True) -> Iterator[Place]:
        """Where a path leads, links resolved, whether or not there is something.

        Without ``follow`` a link at the end is meant itself, not what it points to. Raises
        ToolFailed if that is outside the root.
        """
        with self._reached(path, self._checked(path), follow, MAX_LINKS) as place:
            yield place

    @contextmanager
    def reach_real(self, path: Path) -> Iterator[Place]:
        """What lies at a path that had no links in it; ToolFailed if it has some by now."""
        shown = self.shown(path)
        with self._reached(shown, shown, follow=False, max_links=0) as place:
            yield place

    @contextmanager
    def reach_to_write(self, path: str) -> Iterator[Place]:
        """Where a path leads, if files may be made or changed there."""
        with self.reach(path) as place:
            _must_not_be_gits_own(path, place)
            yield place

    @contextmanager
    def reach_to_delete(self, path: str) -> Iterator[Place]:
        """What a path names, if that may be deleted."""
        with self.reach(path, follow=False) as place:
            _must_not_be_gits_own(path, place)
            if not place.parts:
                raise ToolFailed("The root of the repository itself cannot be deleted.")
            yield place

    def path(self, path: str) -> Path:
        """The real path of where a path leads, to name it; ToolFailed if that is outside."""
        with self.reach(path) as place:
            return place.path

    def to_write(self, path: str) -> Path:
        """The same, if files may be made or changed there."""
        with self.reach_to_write(path) as place:
            return place.path

    def entry_to_delete(self, path: str) -> Path:
        """The real path of what a path names, if that may be deleted."""
        with self.reach_to_delete(path) as place:
            return place.path

    def shown(self, path: Path) -> str:
        """A path inside the root as people and models write it."""
        try:
            return path.relative_to(self.folder).as_posix()
        except ValueError:
            return path.name

    def _reached(self, path: str, checked: str, follow: bool, max_links: int) -> Place:  # noqa: FBT001
        try:
            return reach(self.opened(), self.folder, checked, follow=follow, max_links=max_links)
        except LeavesRoot as error:
            raise _outside(path) from error
        except OSError as error:
            raise ToolFailed(said_by_system(error, path)) from error

    def _checked(self, path: str) -> str:
        if not path:
            raise ToolFailed("The path is empty: name a file or folder of the repository.")
        path = existing_path(self.folder, path)
        if "\0" in path:
            raise ToolFailed("The path has a NUL character in it, as no path has.")
        try:
            os.fsencode(path)
        except UnicodeEncodeError as error:
            raise ToolFailed("The path has characters in it that no file name has.") from error
        if _UNC.match(path) or (_DRIVE.match(path) and not self._is_on_our_drive(path)):
            raise _outside(path)
        if _WINDOWS and ":" in _DRIVE.sub("", path, count=1):
            raise ToolFailed(f"{path} is no path of a file: there is a colon in it.")
        return path

    def _is_on_our_drive(self, path: str) -> bool:
        """Whether a path with a drive letter may lead into the root at all."""
        return _WINDOWS and path[2:3] in {"/", "\\"}


def _must_not_be_gits_own(path: str, place: Place) -> None:
    if any(_is_git(name) for name in place.parts):
        raise ToolFailed(
            f"{path} belongs to git, whose own files are not written here: use git commands."
        )


def _is_git(name: str) -> bool:
    return _UNSEEN.sub("", name).rstrip(". ").lower() in _GIT_NAMES


def _outside(path: str) -> ToolFailed:
    return ToolFailed(f"Access denied: {path} is outside the repository. Use a path inside it.")
