"""Which file systems need polling, because changes on them send no events."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

if sys.platform != "linux":
    import psutil

# Changes made on another machine, or on the other side of a virtual one, send no events here.
REMOTE_FILE_SYSTEMS = frozenset({
    "9p", "afpfs", "afs", "autofs", "beegfs", "ceph", "cifs", "coda", "drvfs", "glusterfs",
    "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb", "smb2", "smb3",
    "smbfs", "vboxsf", "virtiofs", "vmhgfs", "webdav",
})  # fmt: skip

# Most of FUSE is somewhere else (sshfs, rclone, gvfs, s3fs); these only dress up a local folder.
LOCAL_FUSE_FILE_SYSTEMS = frozenset({
    "bindfs", "cryfs", "encfs", "ecryptfs", "gocryptfs", "lxcfs", "mergerfs", "ntfs-3g", "portal",
    "snapfuse", "squashfuse", "unionfs", "unionfs-fuse",
})  # fmt: skip

MOUNTINFO_PATH = Path("/proc/self/mountinfo")

# The fifth field is the folder, the one after a hyphen the kind: proc(5).
_MOUNT = re.compile(r"^(?:[^ \n]+ ){4}([^ \n]+) .*? - ([^ \n]+)", re.MULTILINE)


class Mount(NamedTuple):
    """A file system, and the folder at which it begins."""

    folder: str
    file_system: str


def needs_polling(root: Path) -> bool:
    """True if files below ``root`` can change without an event, for want of a local disk."""
    return has_remote_mount(os.path.realpath(root), _list_mounts())


def has_remote_mount(root: str, mounts: Iterable[Mount]) -> bool:
    """True if what holds ``root``, or anything mounted below it, is remote."""
    holding: dict[str, Mount] = {}  # the last of several at the same folder lies on top
    below = []
    for mount in mounts:
        if _is_inside(root, mount.folder):
            holding[mount.folder] = mount
        elif _is_inside(mount.folder, root):
            below.append(mount)
    innermost = [holding[max(holding, key=len)]] if holding else []
    return any(is_remote_file_system(mount.file_system) for mount in [*below, *innermost])


def is_remote_file_system(kind: str) -> bool:
    """True for the name of a file system that others can change."""
    family, _, flavour = kind.lower().partition(".")
    if family == "fuse" and flavour:
        return flavour not in LOCAL_FUSE_FILE_SYSTEMS
    return family in REMOTE_FILE_SYSTEMS


def parse_mountinfo(text: str) -> list[Mount]:
    """The mounts of a ``/proc/self/mountinfo``, in its order."""
    return [Mount(_unescape_field(folder), kind) for folder, kind in _MOUNT.findall(text)]


def _list_mounts() -> list[Mount]:
    if sys.platform != "linux":
        return [
            Mount(part.mountpoint, "smb" if "remote" in part.opts.split(",") else part.fstype)
            for part in psutil.disk_partitions(all=True)
        ]
    try:
        return parse_mountinfo(os.fsdecode(MOUNTINFO_PATH.read_bytes()))
    except OSError:
        return []  # a sandbox without /proc: events are all there is


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/\\") + os.sep)


def _unescape_field(field: str) -> str:
    """Undo the octal numbers by which the kernel writes spaces, tabs, newlines and backslashes."""
    return re.sub(r"\\(040|011|012|134)", lambda match: chr(int(match[1], 8)), field)
