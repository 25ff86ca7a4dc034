"""Explain errors of the operating system as StorageError with advice for the user."""

import errno
import os
import shutil
from pathlib import Path

from codekernel.errors import StorageError

# SQLite starts with a shared memory of this size; with less space nothing can be opened.
MIN_FREE_BYTES = 64 * 1024

# Passing reasons, which are not the fault of a file: it is not quarantined.
_QUOTA = getattr(errno, "EDQUOT", errno.ENOSPC)  # Windows has no quota error

TRANSIENT_ERRNOS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, _QUOTA, errno.EFBIG}
    | {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)


def explain_os_error(error: OSError, path: Path) -> StorageError:
    """Return ``error``, raised while reading or writing ``path``, as a sentence."""
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
        _QUOTA: full,
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
    """Return whether the disk of a folder is full; libraries report it under other names."""
    try:
        if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
            return True
        found = os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError:
        return False
    return found is not None and found.f_files > 0 and found.f_favail == 0  # 0 of 0: no limit


def require_disk_space(folder: Path) -> None:
    """Raise StorageError if the disk is full, before a commit that must not be half done."""
    if is_disk_full(folder):
        raise explain_os_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), folder)


def is_unwritable(folder: Path) -> bool:
    """Return whether the disk of a folder, which need not exist, is full or read-only."""
    there = next((place for place in (folder, *folder.parents) if place.is_dir()), folder)
    return is_disk_full(there) or not os.access(there, os.W_OK)


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
