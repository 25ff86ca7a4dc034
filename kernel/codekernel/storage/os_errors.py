"""Explain errors of the operating system (disk full, permission denied.

Read-only disk) as StorageError with advice for a person.
"""

import errno
import os
import shutil
from pathlib import Path

from codekernel.errors import StorageError

# SQLite begins with a shared memory of this size; with less room nothing can be begun.
MIN_FREE_BYTES = 64 * 1024

# Reasons that pass without a file's being at fault: it stays where it is.
TRANSIENT_ERRNOS = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        getattr(errno, "EDQUOT", errno.ENOSPC),
        errno.EFBIG,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
    }
)


def explain_os_error(error: OSError, path: Path) -> StorageError:
    """Put ``error``, met while reading or writing ``path``, into a sentence."""
    reason = error.strerror or type(error).__name__
    unknown = (
        f"cannot be read or written ({reason}): check the disk that holds {path.parent},"
        " or choose another folder with --user-data."
    )
    return StorageError(f"{path} {_describe_errors(path.parent).get(error.errno or 0, unknown)}")


def _describe_errors(folder: Path) -> dict[int, str]:
    full = f"cannot be written, the disk is full: {format_space_advice(folder)}"
    refused = f"cannot be read or written: {format_permission_advice(folder)}"
    file_in_the_way = (
        "cannot be reached, something on the way to it is a file where a folder is needed:"
        " rename that file, or choose another folder with --user-data."
    )
    return {
        errno.ENOSPC: full,
        getattr(errno, "EDQUOT", errno.ENOSPC): full,  # Windows knows no quota error
        errno.EACCES: refused,
        errno.EPERM: refused,
        errno.EROFS: f"cannot be written: {format_read_only_advice(folder)}",
        errno.EFBIG: (
            "cannot be written, it would be larger than this system lets a file be: raise the"
            " file size limit (ulimit -f) of the account that runs codekernel."
        ),
        errno.ENOTDIR: file_in_the_way,
        errno.EEXIST: file_in_the_way,
        errno.EISDIR: "is a folder where a file is needed: rename that folder.",
        errno.ENOENT: f"does not exist: check that {folder} is still there.",
    }


def is_disk_full(folder: Path) -> bool:
    """Whether the disk of a folder takes no further file, as libraries say it with other words."""
    try:
        if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
            return True
        return hasattr(os, "statvfs") and _has_no_inodes(os.statvfs(folder))
    except OSError:
        return False


def require_disk_space(folder: Path) -> None:
    """Raise StorageError if the disk is full: words must not be committed without their catalog."""
    if is_disk_full(folder):
        raise explain_os_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), folder)


def is_unwritable(folder: Path) -> bool:
    """Whether the disk of a folder, which may have to be made, is full or may not be written."""
    there = next((place for place in (folder, *folder.parents) if place.is_dir()), folder)
    return is_disk_full(there) or not os.access(there, os.W_OK)


def _has_no_inodes(found: "os.statvfs_result") -> bool:
    """File systems without a fixed number of them say 0 of 0."""
    return found.f_files > 0 and found.f_favail == 0


def format_space_advice(folder: Path) -> str:
    """Say what to do about a full disk."""
    return f"free some space on the disk that holds {folder}, then try again."


def format_permission_advice(folder: Path) -> str:
    """Say who must be able to write where."""
    return (
        f"the account that runs codekernel must be able to read and write in {folder},"
        " and no other program may keep the file to itself."
    )


def format_read_only_advice(folder: Path) -> str:
    """Say what to do about a read-only file system."""
    return (
        f"{folder} lies on a read-only disk. Make the disk writable,"
        " or choose another folder with --user-data."
    )
