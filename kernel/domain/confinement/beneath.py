"""What a path means beneath a folder: walked part by part on open folders, links read by ourselves.

A link is followed if it leads to a place beneath the folder; ``..`` goes back to the folder that
was opened before. Nothing outside is ever opened.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from kernel.domain.confinement.folder_handle import FolderHandle

# As many as Linux follows.
MAX_LINKS = 40
_SEPARATORS = re.compile(r"[\\/]" if os.name == "nt" else "/")
# What a system says of a link, or of a file, where a folder was to be opened.
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP, getattr(errno, "EMLINK", 0)})


class LeavesRoot(OSError):
    """The path leads out of the folder; what lies there was not looked at."""


@dataclass(slots=True)
class Place:
    """Where a path leads: an entry ``name`` of a folder that is held open.

    ``status`` is its own state, None if there is nothing; then ``missing`` are the folders that
    are not there either, and ``error`` says why nothing can be there (a file on the way, a folder
    that may not be entered). The root itself has the name ``.`` and no parts.
    """

    top: Path
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
        return self.top.joinpath(*self.parts)

    @property
    def is_folder(self) -> bool:
        """Whether there is a folder."""
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Whether there is a link, which is meant itself."""
        return self.status is not None and stat.S_ISLNK(self.status.st_mode)

    def must_exist(self) -> os.stat_result:
        """Return the state; raises OSError if there is nothing."""
        if self.status is None:
            raise self.error or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return self.status

    def open_file(self, flags: int = os.O_RDONLY) -> int:
        """Return a descriptor. Raises OSError."""
        return self.parent.open_file(self.name, flags)

    def open_folder(self) -> FolderHandle:
        """Hold the folder that is there, to be listed. Raises OSError."""
        return self.parent.open_folder(self.name, to_list=True)

    @contextmanager
    def folders_made(self, *more: str) -> Iterator[FolderHandle]:
        """Make what is missing, and ``more`` in it, and hold the last of them.

        They are removed again if the block fails. Raises OSError.
        """
        if self.error:
            raise self.error
        held = [self.parent]
        names = (*self.missing, *more)
        made = 0
        try:
            for name in names:
                held[-1].make_folder(name)
                made += 1
                held.append(held[-1].open_folder(name))
            yield held[-1]
        except BaseException:
            for number in range(made, 0, -1):
                for folder in held[number:]:
                    folder.close()
                with suppress(OSError):
                    held[number - 1].remove_folder(names[number - 1])
            raise
        finally:
            for folder in held[1:]:
                folder.close()

    def close(self) -> None:
        """Let go of every folder on the way."""
        for folder in self._held:
            folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def reach(
    root: FolderHandle, top: Path, path: str, *, follow: bool = True, max_links: int = MAX_LINKS
) -> Place:
    """Walk to a path beneath ``root``, whose own path is ``top``.

    With ``follow`` a link at the end is followed too, else it is meant itself. ``root`` belongs to
    the place from now on. Raises LeavesRoot, OSError (ELOOP for more than ``max_links`` links).
    """
    walk = _Walk(root, top, follow=follow, max_links=max_links)
    try:
        return walk.place(path)
    except BaseException:
        walk.close()
        raise


class _Walk:
    """``_held`` are the root and the open folders below it; ``_names`` all parts, open or not."""

    def __init__(self, root: FolderHandle, top: Path, *, follow: bool, max_links: int) -> None:
        self._top = top
        self._follow = follow
        self._links_left = max_links
        self._held = [root]
        self._names: list[str] = []
        # Why the first part that could not be entered could not.
        self._error: OSError | None = None
        self._todo: list[str] = []

    def place(self, path: str) -> Place:
        self._begin(path)
        while self._todo:
            name = self._todo.pop()
            if name == "..":
                self._go_back()
            elif len(self._held) <= len(self._names):
                self._names.append(name)  # below something that is not there
            elif self._todo:
                self._enter(name)
            elif not self._is_link_followed(name):
                self._names.append(name)
        return self._reached()

    def close(self) -> None:
        for folder in self._held:
            folder.close()

    def _begin(self, path: str) -> None:
        if _is_anchored(path):
            self._start_anew(os.path.join(self._top, path))  # noqa: PTH118 - may have ".." in it
        else:
            self._add(path)

    def _add(self, path: str) -> None:
        parts = [part for part in _SEPARATORS.split(path) if part and part != "."]
        self._todo.extend(reversed(parts))

    def _rest(self) -> list[str]:
        """What is left to do, which is forgotten."""
        rest = self._todo[::-1]
        self._todo.clear()
        return rest

    def _go_back(self) -> None:
        if not self._names:
            above = os.path.dirname(os.path.realpath(self._top))  # noqa: PTH120 - a text
            self._start_anew(os.path.join(above, *self._rest()))  # noqa: PTH118 - may have ".." in it
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
        if not self._follow:
            return False
        try:
            is_link = stat.S_ISLNK(self._held[-1].status(name).st_mode)
        except OSError:
            return False
        return is_link and self._is_link_expanded(name)

    def _is_link_expanded(self, name: str) -> bool:
        """Put what a link says in its place; false if it is no link (any more)."""
        try:
            target = self._held[-1].read_link(name)
        except OSError:
            return False
        if not self._links_left:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._links_left -= 1
        if _is_anchored(target):
            self._start_anew(os.path.join(self._top, target, *self._rest()))  # noqa: PTH118 - may have ".." in it
        else:
            self._add(target)
        return True

    def _start_anew(self, absolute: str) -> None:
        """Go on from the root if an absolute path leads into it. Raises LeavesRoot.

        Only its text is taken from outside: which names below the root it means.
        """
        below = _below(os.fspath(self._top), absolute)
        if below is None:
            if not self._links_left:
                raise LeavesRoot(errno.EACCES, "outside the folder")
            self._links_left -= 1
            below = _below(os.path.realpath(self._top), self._real(absolute))
        if below is None:
            raise LeavesRoot(errno.EACCES, "outside the folder")
        while len(self._held) > 1:
            self._held.pop().close()
        self._names.clear()
        self._error = None
        self._add(below)

    def _real(self, absolute: str) -> str:
        above, name = os.path.split(absolute.rstrip("/\\" if os.name == "nt" else "/") or os.sep)
        try:
            if self._follow or name in {"", ".", ".."}:
                return os.path.realpath(absolute)
            return os.path.join(os.path.realpath(above), name)  # noqa: PTH118 - texts
        except OSError as error:  # swapped while it was read
            raise LeavesRoot(errno.EACCES, "outside the folder") from error

    def _reached(self) -> Place:
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
        return Place(self._top, tuple(names), parent, missing, name, status, self._error, held)


def _is_anchored(path: str) -> bool:
    """Whether a path does not begin where it stands; on Windows also one of another drive."""
    if os.name == "nt":
        return bool(os.path.splitdrive(path)[0]) or path[:1] in {"\\", "/"}
    return path.startswith("/")


def _below(top: str, absolute: str) -> str | None:
    """The rest of a path that begins with ``top``; None if it does not."""
    there = os.path.normcase(absolute)
    start = os.path.normcase(top).rstrip(os.sep)
    if there == start:
        return ""
    return absolute[len(start) + 1 :] if there.startswith(start + os.sep) else None
