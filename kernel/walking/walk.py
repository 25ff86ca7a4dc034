"""Which files of a repository are indexed: each one found, or left out with its reason.

Nested repositories and submodules are walked too, each by its own rules; git itself would only
name their folder. Links are never followed, so there are no loops. A root that the repository
around it ignores was opened on purpose: it is taken for a folder without git.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from kernel.domain.cancel import CancelToken
from kernel.domain.confinement.beneath import reach
from kernel.domain.confinement.folder_handle import FolderHandle
from kernel.domain.confinement.open_levels import OpenLevels
from kernel.domain.source import FoundFile, LeftOut, Reason
from kernel.walking.entries import (
    inside,
    is_junction,
    is_real_folder,
    leaf,
    refused,
    way_into,
)
from kernel.walking.folder import (
    DOT_GIT,
    SPEAKING_NAMES,
    Folder,
    enter,
    outermost,
    present_names,
)
from kernel.walking.ignore_repository import enclosing_top

# A folder to enter: the one it lies in, its name, why all in it is left out, that one's depth.
Pending = tuple[Folder, str, str | None, int]
# Git's index is not among them: git writes it at every turn. A file that becomes tracked although
# it is ignored is noticed by the next whole walk.
_RULE_FILES_OF_GIT = (f"/{DOT_GIT}/info/exclude", f"/{DOT_GIT}/config")


class Walk:
    """The files below ``root``; rules are read when first needed and kept until forgotten.

    Raises OSError where the root itself cannot be listed, so that a disk that was unplugged is
    not taken for an empty repository.
    """

    def __init__(self, root: Path, open_root: Callable[[], FolderHandle] | None = None) -> None:
        """``open_root`` holds the root, if that is not what its path leads to."""
        self._root = root
        self._open_root = open_root or partial(FolderHandle.open, root, follow=True)
        self._folders: dict[str, Folder] = {}

    def forget_rules(self) -> None:
        """Read every rule file anew when it is needed next."""
        self._folders = {}

    def is_rule_file(self, path: str) -> bool:
        """Whether a change of this path can change what is said of others."""
        return path.rpartition("/")[2] in SPEAKING_NAMES or f"/{path}".endswith(_RULE_FILES_OF_GIT)

    def files(self, cancel: CancelToken) -> Iterator[FoundFile | LeftOut]:
        """Every file, and one LeftOut for each folder that is left out; rules are read anew."""
        self.forget_rules()
        yield from self._below(self._top(), cancel)

    def under(self, folder: str, cancel: CancelToken) -> Iterator[FoundFile | LeftOut]:
        """The same for one folder; what it is, if it is a file; nothing if it is not there."""
        found = self._reach(folder.strip("/"))
        if isinstance(found, Folder):
            yield from self._below(found, cancel)
        elif found:
            yield found

    def verdict(self, path: str) -> FoundFile | LeftOut | None:
        """What becomes of one path; None if there is nothing."""
        found = self._reach(path.rstrip("/"))
        if not isinstance(found, Folder):
            return found
        try:
            with self._opened(found.path) as folder:
                folder.entries()
        except OSError as error:
            return refused(found.path, error)
        return LeftOut(found.path, Reason.NOT_A_FILE, "a folder, not a file; it is walked")

    def skips_folder(self, path: str) -> bool:
        """Whether nothing below a folder is indexed, so that nobody need watch it."""
        return isinstance(self._reach(path.strip("/")), LeftOut)

    def _below(self, start: Folder, cancel: CancelToken) -> Iterator[FoundFile | LeftOut]:
        pending: list[Pending] = []
        try:
            levels = OpenLevels(self._opened(start.path))
            entries = levels.top.entries()
        except OSError as error:
            if not start.path:
                raise
            yield refused(start.path, error)
            return
        with levels:
            yield from self._contents(start, entries, 0, pending, cancel)
            while pending and not cancel.cancelled:
                parent, name, left_out, depth = pending.pop()
                try:
                    opened = levels.enter(depth, name)
                    entries = opened.entries()
                except OSError as error:
                    yield refused(f"{parent.path}{name}/", error)
                    continue
                present = SPEAKING_NAMES.intersection([entry.name for entry in entries])
                folder = enter(parent, name, present, left_out=left_out, opened=opened)
                yield from self._contents(folder, entries, depth + 1, pending, cancel)

    def _opened(self, path: str) -> FolderHandle:
        """Hold a folder that was met, if no link is in its place by now. Raises OSError."""
        root = self._open_root()
        if not path:
            return root
        with reach(root, self._root, path, follow=False, max_links=0) as place:
            place.must_exist()
            return place.open_folder()

    def _contents(
        self,
        folder: Folder,
        entries: list["os.DirEntry[str]"],
        depth: int,
        pending: list[Pending],
        cancel: CancelToken,
    ) -> Iterator[FoundFile | LeftOut]:
        """What lies in one folder; folders to enter are put on ``pending``, the first on top."""
        folders: list[Pending] = []
        for entry in entries:
            if cancel.cancelled:
                return
            name = entry.name
            if not _is_folder(entry):
                yield leaf(folder, name, partial(entry.stat, follow_symlinks=False), self._root)
                continue
            way = way_into(folder, name)
            if isinstance(way, LeftOut):
                yield way
            else:
                folders.append((folder, name, way, depth))
        pending.extend(reversed(folders))

    def _top(self) -> Folder:
        folders = self._folders
        if "" not in folders:
            folders[""] = _root_folder(self._root)
        return folders[""]

    def _reach(self, path: str) -> Folder | FoundFile | LeftOut | None:
        """Goes down to ``path`` part by part, as the walk does."""
        folder = self._top()
        parts = path.split("/") if path else []
        if {"", ".", ".."}.intersection(parts):
            return LeftOut(path, Reason.OUTSIDE, "not a path below the repository")
        for depth, name in enumerate(parts, start=1):
            try:
                status = os.lstat(f"{folder.full}{os.sep}{name}")
            except (FileNotFoundError, NotADirectoryError, ValueError):
                return None
            except OSError as error:
                return refused(path, error)
            found: Folder | FoundFile | LeftOut
            if is_real_folder(status):
                found = self._entered(folder, name)
            else:
                found = leaf(folder, name, partial(_same, status), self._root)
            if not isinstance(found, Folder):
                return found if depth == len(parts) else self._behind(found, path)
            folder = found
        return folder

    def _entered(self, parent: Folder, name: str) -> Folder | LeftOut:
        folders = self._folders
        path = f"{parent.path}{name}/"
        if path not in folders:
            way = way_into(parent, name)
            if isinstance(way, LeftOut):
                return way
            present = present_names(f"{parent.full}{os.sep}{name}")
            try:
                with self._opened(path) if present else nullcontext() as opened:
                    folders[path] = enter(parent, name, present, left_out=way, opened=opened)
            except OSError as error:
                return refused(path, error)
        return folders[path]

    def _behind(self, met: FoundFile | LeftOut, path: str) -> LeftOut | None:
        """What is said of ``path`` when a folder on the way to it is not entered."""
        if isinstance(met, FoundFile) or not os.path.lexists(self._root / path):
            return None
        return LeftOut(path, met.reason, inside(met.path, met.detail))


def _same(status: os.stat_result) -> os.stat_result:
    return status


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    if not entry.is_dir(follow_symlinks=False):
        return False
    return os.name != "nt" or not is_junction(entry.stat(follow_symlinks=False))


def _root_folder(root: Path) -> Folder:
    """The root with the rules that hold in it, those of a repository around it included."""
    real = Path(os.path.realpath(root))
    top = enclosing_top(real)
    if top is None or top == real:
        return outermost(str(root), "")
    names = real.relative_to(top).parts
    folder = outermost(str(top), "../" * len(names))
    for above, name in enumerate(names, start=1):
        if way_into(folder, name) is not None:
            return outermost(str(root), "")
        present = present_names(f"{folder.full}{os.sep}{name}")
        folder = enter(folder, name, present, path="../" * (len(names) - above))
    return folder
