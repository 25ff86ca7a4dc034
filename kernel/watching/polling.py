"""Looking every few seconds, where events do not come: how often, and on which file systems."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# A no-op sweep of a hundred thousand files may take seconds: often enough to feel alive, seldom
# enough to leave the machine alone. Who sweeps for longer says so with ``slow_down``.
POLL_SECONDS = 5.0
# However slow the drive, a change is found in the time of a coffee.
SLOWEST_POLL_SECONDS = 300.0

# Changes made on another machine, or on the other side of a virtual one, send no events here.
REMOTE_FILE_SYSTEMS = frozenset({
    "9p", "afpfs", "afs", "autofs", "beegfs", "ceph", "cifs", "coda", "drvfs", "glusterfs",
    "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb", "smb2", "smb3",
    "smbfs", "vboxsf", "virtiofs", "vmhgfs", "webdav",
})  # fmt: skip
# Most of FUSE is somewhere else (sshfs, rclone, gvfs, s3fs); these only dress up a local folder.
LOCAL_FUSE = frozenset({
    "bindfs", "cryfs", "encfs", "ecryptfs", "gocryptfs", "lxcfs", "mergerfs", "ntfs-3g", "portal",
    "snapfuse", "squashfuse", "unionfs", "unionfs-fuse",
})  # fmt: skip
# A variable, so that the type checker reads both branches.
ON_LINUX: bool = sys.platform == "linux"
MOUNTINFO = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Mount:
    """A file system, and the folder at which it begins."""

    folder: str
    kind: str


def needs_polling(root: Path) -> bool:
    """True if files below ``root`` can change without an event, for want of a local disk."""
    return any_remote(os.path.realpath(root), _mounts())


def any_remote(root: str, mounts: Iterable[Mount]) -> bool:
    """True if what holds ``root``, or anything mounted below it, is remote."""
    holding = Mount("", "")
    for mount in mounts:
        if _lies_in(mount.folder, root) and mount.folder != root and is_remote(mount.kind):
            return True
        # The last of several at the same folder lies on top of the others.
        if _lies_in(root, mount.folder) and len(mount.folder) >= len(holding.folder):
            holding = mount
    return is_remote(holding.kind)


def is_remote(kind: str) -> bool:
    """True for the name of a file system that others can change."""
    family, _, flavour = kind.lower().partition(".")
    if family == "fuse" and flavour:
        return flavour not in LOCAL_FUSE
    return family in REMOTE_FILE_SYSTEMS


def parse_mountinfo(text: str) -> list[Mount]:
    """The mounts of a ``/proc/self/mountinfo``, in its order."""
    mounts = []
    for line in text.splitlines():
        place, separator, source = line.partition(" - ")
        fields = place.split(" ")
        if separator and len(fields) > 4:  # noqa: PLR2004  # the fifth is the folder: proc(5)
            mounts.append(Mount(_without_escapes(fields[4]), source.split(" ")[0]))
    return mounts


def _mounts() -> list[Mount]:
    if ON_LINUX:
        try:
            return parse_mountinfo(os.fsdecode(MOUNTINFO.read_bytes()))
        except OSError:
            return []  # a sandbox without /proc: events are all there is
    import psutil  # noqa: PLC0415  # not needed on Linux

    return [
        Mount(part.mountpoint, "smb" if "remote" in part.opts.split(",") else part.fstype)
        for part in psutil.disk_partitions(all=True)
    ]


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/\\") + os.sep)


def _without_escapes(field: str) -> str:
    """Undo the octal numbers by which the kernel writes spaces, tabs, newlines and backslashes."""
    for escaped, meant in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(escaped, meant)
    return field
