"""A file, a link or a whole folder put somewhere else: all of it, or nothing is changed.

A rename where that is possible. To another disk it is copied first, put under its name at once,
and only then is what it was taken away, at once as well.
"""

import errno
import os
import shutil
import stat
from contextlib import suppress

from kernel.domain.confinement.folder_handle import FolderHandle

_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def move(
    source: FolderHandle, name: str, target: FolderHandle, new_name: str, temporary: str
) -> None:
    """Move an entry of one open folder to another; ``temporary`` is a name for what is under way.

    Raises OSError; then everything is where it was.
    """
    try:
        source.rename(name, target, new_name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_to_another_disk(source, name, target, new_name, temporary)
    for folder in (source, target):
        with suppress(OSError):  # where a folder can be flushed at all
            folder.flush()


def _move_to_another_disk(
    source: FolderHandle, name: str, target: FolderHandle, new_name: str, temporary: str
) -> None:
    try:
        _copy(source, name, target, temporary)
        target.rename(temporary, target, new_name)
    except OSError:
        _remove(target, temporary)
        raise
    try:
        source.rename(name, source, temporary)
    except OSError:
        _remove(target, new_name)
        raise
    _remove(source, temporary)


def _copy(source: FolderHandle, name: str, target: FolderHandle, new_name: str) -> None:
    """Copy an entry with its modes and times, links as links. Raises OSError."""
    status = source.status(name)
    if stat.S_ISLNK(status.st_mode):
        target.make_link(new_name, source.read_link(name))
    elif stat.S_ISDIR(status.st_mode):
        with source.open_folder(name, to_list=True) as here:
            target.make_folder(new_name, 0o700)
            with target.open_folder(new_name) as there:
                for entry in here.entries():
                    _copy(here, entry.name, there, entry.name)
        target.set_mode_and_times(new_name, status)
    elif stat.S_ISREG(status.st_mode):
        _copy_file(source, name, target, new_name)
        target.set_mode_and_times(new_name, status)
    else:
        raise OSError(errno.EINVAL, f"{name} is a pipe, a socket or a device: it stays here")


def _copy_file(source: FolderHandle, name: str, target: FolderHandle, new_name: str) -> None:
    with (
        open(source.open_file(name), "rb") as taken,  # noqa: PTH123 - a descriptor is not a path
        open(target.open_file(new_name, _MAKE, 0o600), "wb") as made,  # noqa: PTH123 - the same
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


def _remove(folder: FolderHandle, name: str) -> None:
    """As far as the system lets us; what is left has a name that says whose it is."""
    with suppress(OSError):
        if stat.S_ISDIR(folder.status(name).st_mode):
            folder.remove_tree(name, ignore_errors=True)
        else:
            folder.remove_file(name)
