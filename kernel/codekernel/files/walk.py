"""Walk a repository and yield every file found or skipped, with the reason.

Nested repositories are walked by their own rules; links are never followed.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.confined_path import OpenFolderStack, resolve_confined
from codekernel.domain.folder_handle import FolderHandle
from codekernel.domain.index import FoundFile, SkippedPath, SkipReason
from codekernel.files.git_repository import find_work_tree_top
from codekernel.files.skip_rules import (
    ABOVE_ROOT,
    DOT_GIT,
    RULE_FILE_NAMES,
    WalkedFolder,
    check_folder,
    describe_excluded_parent,
    enter_folder,
    find_exclusion,
    list_rule_files,
    read_outermost_folder,
    reject_by_name,
    reject_by_size,
    skip_for_error,
)

# A folder to enter: its parent, its name, why its entries are skipped, the parent's depth.
PendingFolder = tuple[WalkedFolder, str, str | None, int]

# Git's index is not among them: git writes it all the time. A file that becomes tracked although
# it is ignored is noticed by the next whole walk.
_GIT_RULE_FILES = (f"/{DOT_GIT}/info/exclude", f"/{DOT_GIT}/config")


class FileWalker:
    """The files below ``root``; rules are read when first needed and cached.

    Raises OSError if the root itself cannot be listed, so that an unplugged disk does not look like
    an empty repository.
    """

    def __init__(self, root: Path, open_root: Callable[[], FolderHandle] | None = None) -> None:
        """``open_root`` opens the root, where its path is not enough."""
        self._root = root
        self._open_root = open_root or partial(FolderHandle.open, root, follow=True)
        self._folders: dict[str, WalkedFolder] = {}

    def clear_rule_cache(self) -> None:
        """Read every rule file anew when it is needed next."""
        self._folders = {}

    def is_rule_file(self, path: str) -> bool:
        """Whether a change of this path can change the rules for others."""
        return path.rpartition("/")[2] in RULE_FILE_NAMES or f"/{path}".endswith(_GIT_RULE_FILES)

    def iterate_files(self, cancel: CancelToken) -> Iterator[FoundFile | SkippedPath]:
        """Yield every file, and one SkippedPath for each skipped folder; rules are read anew."""
        self.clear_rule_cache()
        yield from self._walk_below(self._get_root_folder(), cancel)

    def iterate_folder(self, folder: str, cancel: CancelToken) -> Iterator[FoundFile | SkippedPath]:
        """Yield the same for one folder, or for one file; nothing if it does not exist."""
        found = self._resolve_path(folder.strip("/"))
        if isinstance(found, WalkedFolder):
            yield from self._walk_below(found, cancel)
        elif found:
            yield found

    def check_path(self, path: str) -> FoundFile | SkippedPath | None:
        """Return whether one path is indexed or skipped; None if it does not exist."""
        found = self._resolve_path(path.rstrip("/"))
        if not isinstance(found, WalkedFolder):
            return found
        try:
            with self._open_folder(found.path) as folder:
                folder.entries()
        except OSError as error:
            return skip_for_error(found.path, error)
        return SkippedPath(found.path, SkipReason.NOT_A_FILE, "a folder, not a file; it is walked")

    def is_skipped_folder(self, path: str) -> bool:
        """Whether nothing below a folder is indexed, so that it needs no watch."""
        return isinstance(self._resolve_path(path.strip("/")), SkippedPath)

    def _walk_below(
        self, start: WalkedFolder, cancel: CancelToken
    ) -> Iterator[FoundFile | SkippedPath]:
        pending: list[PendingFolder] = []
        try:
            levels = OpenFolderStack(self._open_folder(start.path))
            entries = levels.top.entries()
        except OSError as error:
            if not start.path:
                raise
            yield skip_for_error(start.path, error)
            return
        with levels:
            yield from self._walk_folder(start, entries, 0, pending, cancel)
            while pending and not cancel.is_cancelled:
                parent, name, left_out, depth = pending.pop()
                try:
                    opened = levels.enter(depth, name)
                    entries = opened.entries()
                except OSError as error:
                    yield skip_for_error(f"{parent.path}{name}/", error)
                    continue
                present = RULE_FILE_NAMES.intersection([entry.name for entry in entries])
                folder = enter_folder(
                    parent, name, present, exclusion_detail=left_out, handle=opened
                )
                yield from self._walk_folder(folder, entries, depth + 1, pending, cancel)

    def _open_folder(self, path: str) -> FolderHandle:
        """Open a folder, unless a link has replaced it. Raises OSError."""
        root = self._open_root()
        if not path:
            return root
        with resolve_confined(root, self._root, path, follow=False, max_links=0) as place:
            place.require_status()
            return place.open_folder()

    def _walk_folder(
        self,
        folder: WalkedFolder,
        entries: list["os.DirEntry[str]"],
        depth: int,
        pending: list[PendingFolder],
        cancel: CancelToken,
    ) -> Iterator[FoundFile | SkippedPath]:
        """Yield the files of one folder and push its folders on ``pending``, the first on top."""
        folders: list[PendingFolder] = []
        for entry in entries:
            if cancel.is_cancelled:
                return
            name = entry.name
            if not _is_folder(entry):
                yield _classify_file(folder, name, entry, self._root)
                continue
            checked = check_folder(folder, name)
            if isinstance(checked, SkippedPath):
                yield checked
            else:
                folders.append((folder, name, checked, depth))
        pending.extend(reversed(folders))

    def _get_root_folder(self) -> WalkedFolder:
        folders = self._folders
        if "" not in folders:
            folders[""] = _read_root_folder(self._root)
        return folders[""]

    def _resolve_path(self, path: str) -> WalkedFolder | FoundFile | SkippedPath | None:
        """Descend to ``path`` part by part, as the walk does."""
        folder = self._get_root_folder()
        parts = path.split("/") if path else []
        if {"", ".", ".."}.intersection(parts):
            return SkippedPath(path, SkipReason.OUTSIDE, "not a path below the repository")
        for depth, name in enumerate(parts, start=1):
            try:
                status = os.lstat(f"{folder.full_path}{os.sep}{name}")
            except (FileNotFoundError, NotADirectoryError, ValueError):
                return None
            except OSError as error:
                return skip_for_error(path, error)
            found: WalkedFolder | FoundFile | SkippedPath
            if stat.S_ISDIR(status.st_mode) and not _is_junction(status):
                found = self._enter_cached(folder, name)
            else:
                found = _classify_file(folder, name, status, self._root)
            if not isinstance(found, WalkedFolder):
                return found if depth == len(parts) else self._describe_behind(found, path)
            folder = found
        return folder

    def _enter_cached(self, parent: WalkedFolder, name: str) -> WalkedFolder | SkippedPath:
        folders = self._folders
        path = f"{parent.path}{name}/"
        if path not in folders:
            checked = check_folder(parent, name)
            if isinstance(checked, SkippedPath):
                return checked
            present = list_rule_files(f"{parent.full_path}{os.sep}{name}")
            try:
                with self._open_folder(path) if present else nullcontext() as opened:
                    folders[path] = enter_folder(
                        parent, name, present, exclusion_detail=checked, handle=opened
                    )
            except OSError as error:
                return skip_for_error(path, error)
        return folders[path]

    def _describe_behind(self, met: FoundFile | SkippedPath, path: str) -> SkippedPath | None:
        """Return the skip for ``path`` when a folder above it is skipped."""
        if isinstance(met, FoundFile) or not os.path.lexists(self._root / path):
            return None
        return SkippedPath(path, met.reason, describe_excluded_parent(met.path, met.detail))


_SPECIAL_FILE_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}

# A junction, the Windows kind of link to a folder, calls itself a folder.
_JUNCTION_TAG = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)


def _is_junction(status: os.stat_result) -> bool:
    return _JUNCTION_TAG is not None and getattr(status, "st_reparse_tag", 0) == _JUNCTION_TAG


def _classify_file(
    folder: WalkedFolder, name: str, entry: "os.DirEntry[str] | os.stat_result", root: Path
) -> FoundFile | SkippedPath:
    """Index or skip an entry that is no folder; a DirEntry is only read if it is not excluded."""
    path = folder.path + name
    excluded = find_exclusion(folder, name, is_folder=False)
    if excluded:
        return SkippedPath(path, SkipReason.IGNORED, excluded.detail)
    try:
        status = entry.stat(follow_symlinks=False) if isinstance(entry, os.DirEntry) else entry
    except OSError as error:
        return skip_for_error(path, error)
    if stat.S_ISREG(status.st_mode):
        rejected = reject_by_name(path) or reject_by_size(path, status.st_size)
        return rejected or FoundFile(path, status.st_size, status.st_mtime_ns)
    if stat.S_ISLNK(status.st_mode) or _is_junction(status):
        return _skip_link(path, folder.full_path + os.sep + name, root)
    kind = _SPECIAL_FILE_KINDS.get(stat.S_IFMT(status.st_mode), "of a special kind")
    return SkippedPath(path, SkipReason.NOT_A_FILE, f"{kind}, not a file")


def _skip_link(path: str, full: str, root: Path) -> SkippedPath:
    try:
        target = os.path.realpath(full, strict=True)
        top = os.path.realpath(root)
        shown = Path(full).readlink()
    except OSError as error:
        return SkippedPath(
            path, SkipReason.LINK, f"a link that leads nowhere: {error.strerror or error}"
        )
    if target != top and not target.startswith(top.rstrip(os.sep) + os.sep):
        return SkippedPath(path, SkipReason.OUTSIDE, f"a link to {shown}, outside the repository")
    return SkippedPath(
        path, SkipReason.LINK, f"a link to {shown}; what is there is looked at there"
    )


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    if not entry.is_dir(follow_symlinks=False):
        return False
    return os.name != "nt" or not _is_junction(entry.stat(follow_symlinks=False))


def _read_root_folder(root: Path) -> WalkedFolder:
    """Read the root with its rules, those of a repository around it included."""
    real = Path(os.path.realpath(root))
    top = find_work_tree_top(real)
    if top is None or top == real:
        return read_outermost_folder(str(root), "")
    names = real.relative_to(top).parts
    folder = read_outermost_folder(str(top), ABOVE_ROOT * len(names))
    for name in names:
        if check_folder(folder, name) is not None:
            return read_outermost_folder(str(root), "")
        present = list_rule_files(f"{folder.full_path}{os.sep}{name}")
        folder = enter_folder(folder, name, present)
    return folder
