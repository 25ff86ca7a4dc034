"""Resolve paths below a root on open folder handles.

Part by part, reading symbolic links ourselves, never opening anything outside (the sandbox of
walking and of agent tools).
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from codekernel.domain.folder_handle import FolderHandle

# As many as Linux follows.
MAX_LINKS = 40

_SEPARATORS = re.compile(r"[\\/]" if os.name == "nt" else "/")

# Errors of opening a link or a file as a folder.
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP, getattr(errno, "EMLINK", 0)})


class OutsideRootError(OSError):
    """The path leads out of the folder; nothing there was accessed."""


@dataclass(slots=True)
class ConfinedPath:
    """Where a path leads: an entry ``name`` of a folder that is held open.

    ``status`` is its own state, None if there is nothing; then ``missing`` are the folders that
    are not there either, and ``error`` says why nothing can be there (a file on the way, a folder
    that may not be entered). The root itself has the name ``.`` and no parts.
    """

    root_path: Path
    parts: tuple[str, ...]
    parent: FolderHandle
    missing: tuple[str, ...]
    name: str
    status: os.stat_result | None
    error: OSError | None
    _held: list[FolderHandle] = field(repr=False)

    @property
    def path(self) -> Path:
        """The real path, for naming only: by the time it is used it may lead elsewhere."""
        return self.root_path.joinpath(*self.parts)

    @property
    def is_folder(self) -> bool:
        """Whether there is a folder."""
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Whether there is a link, which is meant itself."""
        return self.status is not None and stat.S_ISLNK(self.status.st_mode)

    def require_status(self) -> os.stat_result:
        """Return the state; raises OSError if there is nothing."""
        if self.status is None:
            raise self.error or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return self.status

    def open_file(self, flags: int = os.O_RDONLY) -> int:
        """Return a descriptor. Raises OSError."""
        return self.parent.open_file(self.name, flags)

    def open_folder(self) -> FolderHandle:
        """Open the folder, to be listed. Raises OSError."""
        return self.parent.open_folder(self.name, to_list=True)

    @contextmanager
    def create_missing_folders(self, *more: str) -> Iterator[FolderHandle]:
        """Create the missing folders, and ``more`` in them, and open the last of them.

        They are removed again if the block fails. Raises OSError.
        """
        if self.error:
            raise self.error
        with ExitStack() as levels:
            folder = self.parent
            for name in (*self.missing, *more):
                folder.make_folder(name)
                levels.push(partial(_remove_after_failure, folder, name))
                folder = levels.enter_context(folder.open_folder(name))
            yield folder

    def close(self) -> None:
        """Close every folder on the way."""
        for folder in self._held:
            folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _remove_after_failure(
    parent: FolderHandle, name: str, error: type[BaseException] | None, *_: object
) -> None:
    if error is not None:
        with suppress(OSError):
            parent.remove_folder(name)


def resolve_confined(
    root: FolderHandle,
    root_path: Path,
    path: str,
    *,
    follow: bool = True,
    max_links: int = MAX_LINKS,
) -> ConfinedPath:
    """Walk to a path beneath ``root``, whose own path is ``root_path``.

    With ``follow`` a link at the end is followed too. ``root`` is closed with the result. Raises
    OutsideRootError, OSError (ELOOP for more than ``max_links`` links).
    """
    walk = _ConfinedResolver(root, root_path, follow=follow, max_links=max_links)
    try:
        return walk.resolve(path)
    except BaseException:
        walk.close()
        raise


class _ConfinedResolver:
    """``_held`` are the root and the open folders below it; ``_names`` all parts, open or not."""

    def __init__(self, root: FolderHandle, top: Path, *, follow: bool, max_links: int) -> None:
        self._root_path = top
        self._follow = follow
        self._links_left = max_links
        self._held = [root]
        self._names: list[str] = []
        # Why the first part that could not be entered could not.
        self._error: OSError | None = None
        self._todo: list[str] = []

    def resolve(self, path: str) -> ConfinedPath:
        self._add(path)
        while self._todo:
            name = self._todo.pop()
            if name == "..":
                self._go_up()
            elif len(self._held) <= len(self._names):
                self._names.append(name)  # below something that is not there
            elif self._todo:
                self._enter(name)
            elif not self._is_link_followed(name):
                self._names.append(name)
        return self._build_result()

    def close(self) -> None:
        for folder in self._held:
            folder.close()

    def _add(self, path: str) -> None:
        """Go on with the parts of a path, before those that are left."""
        if _is_absolute(path):
            self._restart_from_root(self._root_path, path, *self._take_rest())
        else:
            self._add_parts(path)

    def _add_parts(self, path: str) -> None:
        parts = [part for part in _SEPARATORS.split(path) if part and part != "."]
        self._todo.extend(reversed(parts))

    def _take_rest(self) -> list[str]:
        """Remove and return the parts left to do."""
        rest = self._todo[::-1]
        self._todo.clear()
        return rest

    def _go_up(self) -> None:
        if not self._names:
            above = os.path.dirname(os.path.realpath(self._root_path))
            self._restart_from_root(above, *self._take_rest())
            return
        self._names.pop()
        if len(self._held) > len(self._names) + 1:
            self._held.pop().close()
        if len(self._held) > len(self._names):
            self._error = None

    def _enter(self, name: str) -> None:
        try:
            self._held.append(self._held[-1].open_folder(name))
        except OSError as error:
            if error.errno in _NO_FOLDER and self._is_link_expanded(name):
                return
            self._error = None if error.errno == errno.ENOENT else error
        self._names.append(name)

    def _is_link_followed(self, name: str) -> bool:
        try:
            is_link = self._follow and stat.S_ISLNK(self._held[-1].status(name).st_mode)
        except OSError:
            return False
        return is_link and self._is_link_expanded(name)

    def _is_link_expanded(self, name: str) -> bool:
        """Replace a link by its target; false if it is no link (any more)."""
        try:
            target = self._held[-1].read_link(name)
        except OSError:
            return False
        if not self._links_left:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._links_left -= 1
        self._add(target)
        return True

    def _restart_from_root(self, *paths: str | Path) -> None:
        """Continue from the root if an absolute path leads into it. Raises OutsideRootError.

        Only its text is taken from outside: which names below the root it means.
        """
        absolute = os.path.join(*paths)
        below = _strip_root(os.fspath(self._root_path), absolute)
        if below is None and self._links_left:
            self._links_left -= 1
            below = _strip_root(os.path.realpath(self._root_path), self._real(absolute))
        if below is None:
            raise OutsideRootError(errno.EACCES, "outside the folder")
        while len(self._held) > 1:
            self._held.pop().close()
        self._names.clear()
        self._error = None
        self._add_parts(below)

    def _real(self, absolute: str) -> str:
        above, name = os.path.split(absolute.rstrip("/\\" if os.name == "nt" else "/") or os.sep)
        try:
            if self._follow or name in {"", ".", ".."}:
                return os.path.realpath(absolute)
            return os.path.join(os.path.realpath(above), name)
        except OSError as error:  # swapped while it was read
            raise OutsideRootError(errno.EACCES, "outside the folder") from error

    def _build_result(self) -> ConfinedPath:
        names, held = self._names, self._held
        if len(held) > len(names) and names:  # a folder that was gone back to
            held.pop().close()
        parent = held[-1]
        missing = tuple(names[len(held) - 1 : -1])
        name = names[-1] if names else "."
        status = None
        if not missing and self._error is None:
            try:
                status = parent.status(name)
            except FileNotFoundError:
                pass
            except OSError as error:
                self._error = error
        return ConfinedPath(
            self._root_path, tuple(names), parent, missing, name, status, self._error, held
        )


def _is_absolute(path: str) -> bool:
    """Whether a path does not begin where it stands; on Windows also one of another drive."""
    if os.name == "nt":
        return bool(os.path.splitdrive(path)[0]) or path[:1] in {"\\", "/"}
    return path.startswith("/")


def _strip_root(top: str, absolute: str) -> str | None:
    """The rest of a path that begins with ``top``; None if it does not."""
    there = os.path.normcase(absolute)
    start = os.path.normcase(top).rstrip(os.sep)
    if there == start:
        return ""
    return absolute[len(start) + 1 :] if there.startswith(start + os.sep) else None


class ConfinedFiles:
    """Keeps the folder of the last file open, in which the next one mostly lies too."""

    def __init__(self, root: FolderHandle, top: Path) -> None:
        self._root = root
        self._root_path = top
        self._folder = ""
        self._held = root

    def locate(self, path: str) -> ConfinedPath:
        """Return the entry at a path without links below the root; need not be closed.

        Raises OSError.
        """
        folder, _, name = path.rpartition("/")
        if folder != self._folder:
            self._hold(folder)
        parts = tuple(path.split("/"))
        status = self._held.status(name)
        return ConfinedPath(self._root_path, parts, self._held, (), name, status, None, [])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._hold("")
        self._root.close()

    def _hold(self, folder: str) -> None:
        if self._held is not self._root:
            self._held.close()
        self._folder, self._held = "", self._root
        if folder:
            root, top = self._root.open_folder("."), self._root_path
            with resolve_confined(root, top, folder, follow=False, max_links=0) as place:
                self._held = place.parent.open_folder(place.name)
            self._folder = folder


# A process may have 256 descriptors open on macOS, 1,024 on Linux; trees are seldom 20 deep.
MAX_OPEN_FOLDERS = 64


class OpenFolderStack:
    """Entered in the order of a depth-first walk; ``depth`` 0 is the top."""

    def __init__(self, top: FolderHandle) -> None:
        self._held = [top]
        self._names = [""]
        # A folder deeper than those that are kept open.
        self._deepest: FolderHandle | None = None

    @property
    def top(self) -> FolderHandle:
        """The folder in which the walk began."""
        return self._held[0]

    def enter(self, depth: int, name: str) -> FolderHandle:
        """Open a folder in the one at ``depth``, and close all that are deeper.

        Raises OSError, also if a link has been put in place of a folder on the way.
        """
        del self._names[depth + 1 :]
        while len(self._held) > depth + 1:
            self._held.pop().close()
        if self._deepest is not None:
            self._deepest.close()
            self._deepest = None
        folder = self._held[-1]
        for passed in (*self._names[len(self._held) :], name):
            try:
                inner = folder.open_folder(passed, to_list=True)
            finally:
                if folder is not self._held[-1]:
                    folder.close()
            folder = inner
        self._names.append(name)
        if len(self._held) == depth + 1 and depth + 1 < MAX_OPEN_FOLDERS:
            self._held.append(folder)
        else:
            self._deepest = folder
        return folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for folder in (*self._held, *([self._deepest] if self._deepest else [])):
            folder.close()
