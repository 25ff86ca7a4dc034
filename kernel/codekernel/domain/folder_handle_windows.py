"""FolderHandle for Windows, which has no openat.

The real path of what was opened is checked, and an open handle keeps the folder from being
renamed or replaced.
"""

import ctypes
import errno
import msvcrt
import os
import shutil
import stat
import sys
from ctypes.wintypes import DWORD, HANDLE, LPCWSTR, LPVOID, LPWSTR
from operator import attrgetter
from pathlib import Path
from typing import Self

assert sys.platform == "win32"

_LIST_DIRECTORY, _SHARE_READ_WRITE = 0x1, 0x3

_OPEN_EXISTING, _BACKUP_SEMANTICS = 3, 0x02000000

_INVALID = ctypes.c_void_p(-1).value

_MAX_PATH_CHARS = 32_768

_LONG, _LONG_SHARE = "\\\\?\\", "\\\\?\\UNC\\"

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)

_create_file = _kernel32.CreateFileW

_create_file.restype = HANDLE

_create_file.argtypes = [LPCWSTR, DWORD, DWORD, LPVOID, DWORD, DWORD, HANDLE]

_final_path = _kernel32.GetFinalPathNameByHandleW

_final_path.restype = DWORD

_final_path.argtypes = [HANDLE, LPWSTR, DWORD, DWORD]

_close_handle = _kernel32.CloseHandle

_close_handle.argtypes = [HANDLE]


class WindowsFolderHandle:
    """``_path`` is the real path of the open folder, as the system says it."""

    __slots__ = ("_handle", "_path")

    def __init__(self, handle: int, path: Path) -> None:
        self._handle: int | None = handle
        self._path = path

    @classmethod
    def open(cls, folder: Path, *, follow: bool = False) -> "WindowsFolderHandle":
        """Hold a folder by its path; with ``follow`` its last part may be a link."""
        return cls._opened(folder, None if follow else folder.parent.resolve())

    def open_folder(self, name: str, *, to_list: bool = False) -> "WindowsFolderHandle":  # noqa: ARG002
        """Hold a folder that lies here."""
        is_same = name == "."
        return self._opened(self.locate(name), None if is_same else self._path)

    def entries(self) -> list["os.DirEntry[str]"]:
        """What lies here, by name."""
        with os.scandir(self._path) as found:
            return sorted(found, key=attrgetter("name"))

    def open_file(self, name: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """Return a descriptor, if what was opened lies here."""
        descriptor = os.open(self.locate(name), flags | os.O_BINARY | os.O_NOINHERIT, mode)
        try:
            if _path_of(msvcrt.get_osfhandle(descriptor)).parent != self._path:
                raise _not_here(name)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def status(self, name: str) -> os.stat_result:
        """Return the state of an entry; of a link, its own."""
        return self.locate(name).lstat()

    def read_link(self, name: str) -> str:
        """Return where a link leads, as it is written in it."""
        return os.fspath(self.locate(name).readlink()).removeprefix(_LONG)

    def make_link(self, name: str, target: str) -> None:
        """Make a symbolic link."""
        self.locate(name).symlink_to(target, target_is_directory=self.locate(target).is_dir())

    def make_folder(self, name: str, mode: int = 0o777) -> None:
        """Make a folder; raises FileExistsError if something has the name."""
        self.locate(name).mkdir(mode)

    def remove_folder(self, name: str) -> None:
        """Remove a folder that is empty."""
        self.locate(name).rmdir()

    def remove_file(self, name: str) -> None:
        """Remove a file or a link."""
        self.locate(name).unlink()

    def remove_tree(self, name: str, *, ignore_errors: bool = False) -> None:
        """Remove a folder with all in it."""
        shutil.rmtree(self.locate(name), ignore_errors=ignore_errors)

    def rename(self, name: str, target: "WindowsFolderHandle", new_name: str) -> None:
        """Give an entry another name, in place of a file that has it."""
        self.locate(name).replace(target.locate(new_name))

    def link_file(self, name: str, new_name: str) -> None:
        """Give a file a second name; links may not exist here, and a rename replaces nothing."""
        self.locate(name).rename(self.locate(new_name))

    def set_mode_and_times(self, name: str, like: os.stat_result) -> None:
        """Give a file or a folder the mode and times of another."""
        os.utime(self.locate(name), ns=(like.st_atime_ns, like.st_mtime_ns))
        self.locate(name).chmod(stat.S_IMODE(like.st_mode))

    def flush(self) -> None:
        """Do nothing: a folder cannot be flushed here."""

    def path_for_child(self, path: Path) -> Path:  # noqa: ARG002 - where handles have no path
        """Return the path of the folder, which holds as long as it is held."""
        return self._path

    def close(self) -> None:
        """Let go of the folder; harmless if that was done before."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _close_handle(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def locate(self, name: str) -> Path:
        """Return the path of an entry."""
        return self._path / name

    @classmethod
    def _opened(cls, path: Path, within: Path | None) -> "WindowsFolderHandle":
        if not path.is_dir():
            path.lstat()  # FileNotFoundError, if there is nothing
            raise _not_here(path.name)
        wanted = (_LIST_DIRECTORY, _SHARE_READ_WRITE, None, _OPEN_EXISTING, _BACKUP_SEMANTICS, None)
        handle = _create_file(os.fspath(path), *wanted)
        if handle in (None, _INVALID):
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            real = _path_of(handle)
            if within is not None and real.parent != within:  # capitals do not matter here
                raise _not_here(path.name)
        except OSError:
            _close_handle(handle)
            raise
        return cls(handle, real)


def _path_of(handle: int) -> Path:
    buffer = ctypes.create_unicode_buffer(_MAX_PATH_CHARS)
    if not _final_path(handle, buffer, _MAX_PATH_CHARS, 0):
        raise ctypes.WinError(ctypes.get_last_error())
    path = buffer.value
    if path.startswith(_LONG_SHARE):
        return Path("\\\\" + path.removeprefix(_LONG_SHARE))
    return Path(path.removeprefix(_LONG))


def _not_here(name: str) -> OSError:
    return OSError(errno.ENOTDIR, "a link, or no folder", name)
