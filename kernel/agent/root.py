"""The one folder that tools may touch: what a path means in it, and which paths leave it.

A path is judged by where it really leads, links resolved; what is said of a path that leaves the
root does not depend on what lies there.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from kernel.agent.failing import ToolFailed
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
    """``folder`` is real: absolute, without links."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> "Root":
        """The root at a folder, however that is reached."""
        return cls(Path(os.path.realpath(folder)))

    def path(self, path: str) -> Path:
        """Where a path leads, links resolved, whether or not there is something.

        Raises ToolFailed if that is outside the root.
        """
        return self._inside(path, os.path.realpath(self._joined(path)))

    def entry(self, path: str) -> Path:
        """The same, but a link at the end is meant itself, not what it points to."""
        joined = self._joined(path).rstrip("/" if not _WINDOWS else "\\/") or os.sep
        above, name = os.path.split(joined)
        if name in {"", ".", ".."}:
            return self.path(path)
        return self._inside(path, os.path.join(os.path.realpath(above), name))  # noqa: PTH118 - texts

    def to_write(self, path: str) -> Path:
        """Where a path leads, if files may be made or changed there."""
        return self._not_gits_own(path, self.path(path))

    def entry_to_delete(self, path: str) -> Path:
        """What a path names, if that may be deleted."""
        entry = self._not_gits_own(path, self.entry(path))
        if entry == self.folder:
            raise ToolFailed("The root of the repository itself cannot be deleted.")
        return entry

    def shown(self, path: Path) -> str:
        """A path inside the root as people and models write it."""
        try:
            return path.relative_to(self.folder).as_posix()
        except ValueError:
            return path.name

    def _joined(self, path: str) -> str:
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
        return os.path.join(self.folder, path)  # noqa: PTH118 - a Path would drop "a/../b"

    def _is_on_our_drive(self, path: str) -> bool:
        """Whether a path with a drive letter may lead into the root at all."""
        return _WINDOWS and path[2:3] in {"/", "\\"}

    def _inside(self, path: str, real: str) -> Path:
        top = os.path.normcase(os.fspath(self.folder))
        if os.path.normcase(real) != top and not os.path.normcase(real).startswith(
            top.rstrip(os.sep) + os.sep
        ):
            raise _outside(path)
        return Path(real)

    def _not_gits_own(self, path: str, real: Path) -> Path:
        if any(_is_git(name) for name in real.relative_to(self.folder).parts):
            raise ToolFailed(
                f"{path} belongs to git, whose own files are not written here: use git commands."
            )
        return real


def _is_git(name: str) -> bool:
    return _UNSEEN.sub("", name).rstrip(". ").lower() in _GIT_NAMES


def _outside(path: str) -> ToolFailed:
    return ToolFailed(f"Access denied: {path} is outside the repository. Use a path inside it.")
