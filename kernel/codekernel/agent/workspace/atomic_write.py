"""Atomic changes to user files: write to a temporary file, fsync, then rename.

Move entries between folders, across devices by copying. A kill leaves the old file or the new
one, and at worst a temporary file that temporary_files.py removes.
"""

import errno
import os
import shutil
import stat
from contextlib import suppress

from codekernel.agent.tool_policy import ToolError
from codekernel.domain.confined_path import ConfinedPath
from codekernel.domain.folder_handle import FolderHandle
from codekernel.storage.safe_files import rename_without_replacing, write_temporary_file

TEMPORARY_PREFIX, TEMPORARY_SUFFIX = ".codekernel-", ".tmp"

_NEW_FILE_MODE = 0o666  # less the umask, as for every program

_WRITE_BITS = 0o222


def make_temporary_name() -> str:
    """Return a name that nobody has."""
    return f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def replace_file(
    place: ConfinedPath, data: bytes, expected: os.stat_result, temporary: str
) -> os.stat_result:
    """Replace a file that was read in this state, and keep its mode and owner.

    A link would be replaced itself. Raises OSError, and ToolError if the file is protected or has
    been changed since.
    """
    name, parent = place.name, place.parent
    if not expected.st_mode & _WRITE_BITS:
        raise ToolError(f"{name} is write-protected: change its mode first (chmod u+w).")
    with write_temporary_file(parent, temporary, data, _NEW_FILE_MODE, expected) as status:
        if not is_same_state(parent.status(name), expected):
            raise ToolError(f"{name} was changed meanwhile by someone else: read it again.")
        parent.rename(temporary, parent, name)
    return status


def create_file(parent: FolderHandle, name: str, data: bytes, temporary: str) -> os.stat_result:
    """Make a file; raises FileExistsError, and changes nothing, if there is something already."""
    with write_temporary_file(parent, temporary, data, _NEW_FILE_MODE) as status:
        rename_without_replacing(parent, temporary, name)
    return status


def is_same_state(one: os.stat_result, other: os.stat_result) -> bool:
    """Return whether both are of one file that was not written to in between."""
    same_file = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    return same_file and (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


_EXCLUSIVE_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def move_entry(
    source: FolderHandle, name: str, target: FolderHandle, new_name: str, temporary: str
) -> None:
    """Move an entry of one open folder to another; ``temporary`` is the name of a partial copy.

    Raises OSError; then nothing has moved.
    """
    try:
        source.rename(name, target, new_name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_across_devices(source, name, target, new_name, temporary)
    for folder in (source, target):
        with suppress(OSError):  # where a folder can be flushed at all
            folder.flush()


def _move_across_devices(
    source: FolderHandle, name: str, target: FolderHandle, new_name: str, temporary: str
) -> None:
    try:
        _copy_entry(source, name, target, temporary)
        target.rename(temporary, target, new_name)
    except OSError:
        _remove_entry(target, temporary)
        raise
    try:
        source.rename(name, source, temporary)
    except OSError:
        _remove_entry(target, new_name)
        raise
    _remove_entry(source, temporary)


def _copy_entry(source: FolderHandle, name: str, target: FolderHandle, new_name: str) -> None:
    """Copy an entry with its modes and times, links as links. Raises OSError."""
    status = source.status(name)
    if stat.S_ISLNK(status.st_mode):
        target.make_link(new_name, source.read_link(name))
    elif stat.S_ISDIR(status.st_mode):
        with source.open_folder(name, to_list=True) as here:
            target.make_folder(new_name, 0o700)
            with target.open_folder(new_name) as there:
                for entry in here.entries():
                    _copy_entry(here, entry.name, there, entry.name)
        target.set_mode_and_times(new_name, status)
    elif stat.S_ISREG(status.st_mode):
        _copy_file(source, name, target, new_name)
        target.set_mode_and_times(new_name, status)
    else:
        raise OSError(errno.EINVAL, f"{name} is a pipe, a socket or a device: it stays here")


def _copy_file(source: FolderHandle, name: str, target: FolderHandle, new_name: str) -> None:
    with (
        os.fdopen(source.open_file(name), "rb") as taken,
        os.fdopen(target.open_file(new_name, _EXCLUSIVE_CREATE, 0o600), "wb") as made,
    ):
        if not stat.S_ISREG(os.fstat(taken.fileno()).st_mode):
            raise OSError(errno.EINVAL, f"{name} has been replaced by something that is no file")
        shutil.copyfileobj(taken, made)
        _copy_attributes(taken.fileno(), made.fileno())


def _copy_attributes(source: int, target: int) -> None:
    """Copy extended attributes as far as both disks have them."""
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):
        for name in os.listxattr(source):
            os.setxattr(target, name, os.getxattr(source, name))


def _remove_entry(folder: FolderHandle, name: str) -> None:
    """Remove an entry as far as possible; what is left has a name that marks it as ours."""
    with suppress(OSError):
        if stat.S_ISDIR(folder.status(name).st_mode):
            folder.remove_tree(name, ignore_errors=True)
        else:
            folder.remove_file(name)
