"""An open folder (directory descriptor).

Entries are reached relative to it with openat and friends, and symbolic links are never
followed.
"""

import os
import stat
import sys
from operator import attrgetter
from pathlib import Path
from typing import Self

if sys.platform == "win32":
    from codekernel.domain.folder_handle_windows import (
        WindowsFolderHandle as FolderHandle,
    )
else:
    _FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

    # O_PATH passes through folders that may be entered but not listed, as a path does.
    _PASSED = _FOLDER | getattr(os, "O_PATH", 0)

    # macOS refuses links anywhere on a path by itself; other systems only at its end.
    _NO_LINKS = getattr(os, "O_NOFOLLOW_ANY", os.O_NOFOLLOW)

    # O_NONBLOCK: a pipe must not make us wait for its other end.
    _FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

    _OPEN_FOLDERS = Path("/proc/self/fd")

    class FolderHandle:
        """Every method takes the name of one entry and raises OSError.

        A link is never followed: where a folder or a file was expected, it is an error.
        """

        __slots__ = ("descriptor",)

        def __init__(self, descriptor: int) -> None:
            self.descriptor = descriptor

        @classmethod
        def open(cls, folder: Path, *, follow: bool = False) -> "FolderHandle":
            """Open a folder by its path; without ``follow`` a link anywhere on it is an error."""
            if follow or not folder.is_absolute():
                return cls(os.open(folder, _FOLDER | (0 if follow else os.O_NOFOLLOW)))
            if not hasattr(os, "O_PATH"):
                return cls(os.open(folder, _FOLDER | _NO_LINKS))
            held = cls(os.open(folder.anchor, _PASSED))
            for name in folder.parts[1:-1]:
                with held as above:
                    held = above.open_folder(name)
            with held as above:
                return above.open_folder(folder.name or ".", to_list=True)

        def open_folder(self, name: str, *, to_list: bool = False) -> "FolderHandle":
            """Open a folder in this one; only one opened ``to_list`` can be listed."""
            flags = (_FOLDER if to_list else _PASSED) | os.O_NOFOLLOW
            return FolderHandle(os.open(name, flags, dir_fd=self.descriptor))

        def entries(self) -> list["os.DirEntry[str]"]:
            """Return the entries, sorted by name; valid while the folder is open."""
            with os.scandir(self.descriptor) as found:
                return sorted(found, key=attrgetter("name"))

        def open_file(self, name: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
            """Return a descriptor; it may be of something that is no regular file."""
            return os.open(name, flags | _FILE, mode, dir_fd=self.descriptor)

        def status(self, name: str) -> os.stat_result:
            """Return the state of an entry; of a link, its own."""
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

        def read_link(self, name: str) -> str:
            """Return where a link leads, as it is written in it."""
            return os.readlink(name, dir_fd=self.descriptor)

        def make_link(self, name: str, target: str) -> None:
            """Make a symbolic link."""
            os.symlink(target, name, dir_fd=self.descriptor)

        def make_folder(self, name: str, mode: int = 0o777) -> None:
            """Make a folder; raises FileExistsError if something has the name."""
            os.mkdir(name, mode, dir_fd=self.descriptor)

        def remove_folder(self, name: str) -> None:
            """Remove a folder that is empty."""
            os.rmdir(name, dir_fd=self.descriptor)

        def remove_file(self, name: str) -> None:
            """Remove a file or a link."""
            os.unlink(name, dir_fd=self.descriptor)

        def remove_tree(self, name: str, *, ignore_errors: bool = False) -> None:
            """Remove a folder with all in it; links in it are removed themselves."""
            import shutil  # noqa: PLC0415 - a client of the kernel does without

            shutil.rmtree(name, ignore_errors=ignore_errors, dir_fd=self.descriptor)

        def rename(self, name: str, target: "FolderHandle", new_name: str) -> None:
            """Give an entry another name, in place of a file that has it."""
            there = target.descriptor
            os.rename(name, new_name, src_dir_fd=self.descriptor, dst_dir_fd=there)

        def link_file(self, name: str, new_name: str) -> None:
            """Give a file a second name; raises FileExistsError if something has it."""
            here = self.descriptor
            os.link(name, new_name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)

        def set_mode_and_times(self, name: str, like: os.stat_result) -> None:
            """Give a file or a folder that we may read the mode and times of another."""
            descriptor = os.open(name, os.O_RDONLY | _FILE, dir_fd=self.descriptor)
            try:
                os.utime(descriptor, ns=(like.st_atime_ns, like.st_mtime_ns))
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            finally:
                os.close(descriptor)

        def flush(self) -> None:
            """Make renames in this folder survive a power cut."""
            descriptor = os.open(".", _FOLDER, dir_fd=self.descriptor)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

        def path_for_child(self, path: Path) -> Path:
            """Return a path by which a child process enters this very folder, if there is one.

            It holds until the child runs its program; elsewhere the folder's own ``path``.
            """
            return _OPEN_FOLDERS / str(self.descriptor) if _OPEN_FOLDERS.is_dir() else path

        def close(self) -> None:
            """Close the folder; harmless if it is closed."""
            descriptor, self.descriptor = self.descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *exception: object) -> None:
            self.close()


def is_regular_file(status: os.stat_result) -> bool:
    """Whether this is a file with bytes in it, and no pipe, device, folder or link."""
    return stat.S_ISREG(status.st_mode)


__all__ = ["FolderHandle", "is_regular_file"]
