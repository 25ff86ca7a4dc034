"""Walk a repository and yield every file found or skipped, with the reason.

Nested repositories are walked by their own rules; links are never followed.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.confinement.confined_path import OpenFolderStack, resolve_confined
from codekernel.domain.confinement.folder_handle import FolderHandle
from codekernel.domain.source_files import FoundFile, SkippedPath, SkipReason
from codekernel.files.git_repository import find_work_tree_top
from codekernel.files.skip_rules import (
    DOT_GIT,
    RULE_FILE_NAMES,
    WalkedFolder,
    check_folder,
    classify_file,
    describe_excluded_parent,
    enter_folder,
    is_junction,
    is_real_folder,
    list_rule_files,
    read_outermost_folder,
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
                yield classify_file(folder, name, entry, self._root)
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
            if is_real_folder(status):
                found = self._enter_cached(folder, name)
            else:
                found = classify_file(folder, name, status, self._root)
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


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    if not entry.is_dir(follow_symlinks=False):
        return False
    return os.name != "nt" or not is_junction(entry.stat(follow_symlinks=False))


def _read_root_folder(root: Path) -> WalkedFolder:
    """Read the root with its rules, those of a repository around it included."""
    real = Path(os.path.realpath(root))
    top = find_work_tree_top(real)
    if top is None or top == real:
        return read_outermost_folder(str(root), "")
    names = real.relative_to(top).parts
    folder = read_outermost_folder(str(top), "../" * len(names))
    for above, name in enumerate(names, start=1):
        if check_folder(folder, name) is not None:
            return read_outermost_folder(str(root), "")
        present = list_rule_files(f"{folder.full_path}{os.sep}{name}")
        folder = enter_folder(folder, name, present, path="../" * (len(names) - above))
    return folder
