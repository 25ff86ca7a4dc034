"""One entry of a folder: a file found, a folder to enter, or left out, and why."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from kernel.domain.source import FoundFile, LeftOut, Reason
from kernel.walking.folder import Folder, leads_on, why_left_out
from kernel.walking.suspects import suspect_name, suspect_size

_SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}
# A junction, the Windows kind of link to a folder, calls itself a folder.
_JUNCTION_TAG = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)


def is_real_folder(status: os.stat_result) -> bool:
    """Whether this is a folder, and no way to another one."""
    return stat.S_ISDIR(status.st_mode) and not is_junction(status)


def is_junction(status: os.stat_result) -> bool:
    """Whether this is a Windows junction; nothing is, elsewhere."""
    return _JUNCTION_TAG is not None and getattr(status, "st_reparse_tag", 0) == _JUNCTION_TAG


def leaf(
    folder: Folder, name: str, look: Callable[[], os.stat_result], root: Path
) -> FoundFile | LeftOut:
    """What becomes of an entry that is no folder; ``look`` asks the disk, if that is needed."""
    path = folder.path + name
    excluded = why_left_out(folder, name, is_folder=False)
    if excluded:
        return LeftOut(path, Reason.IGNORED, excluded.detail)
    try:
        status = look()
    except OSError as error:
        return refused(path, error)
    if stat.S_ISREG(status.st_mode):
        suspicion = suspect_name(name) or suspect_size(name, status.st_size)
        if suspicion:
            return LeftOut(path, suspicion.reason, suspicion.detail)
        return FoundFile(path, status.st_size, status.st_mtime_ns)
    if stat.S_ISLNK(status.st_mode) or is_junction(status):
        return _link(path, folder.full + os.sep + name, root)
    kind = _SPECIAL.get(stat.S_IFMT(status.st_mode), "of a special kind")
    return LeftOut(path, Reason.NOT_A_FILE, f"{kind}, not a file")


def way_into(folder: Folder, name: str) -> str | LeftOut | None:
    """None: enter it. A sentence: enter it, but all in it is left out that nothing wants back."""
    excluded = why_left_out(folder, name, is_folder=True)
    if not excluded:
        return None
    path = f"{folder.path}{name}/"
    if excluded.final or not leads_on(folder, name):
        return LeftOut(path, Reason.IGNORED, excluded.detail)
    return folder.left_out or inside(path, excluded.detail)


def inside(folder_path: str, detail: str) -> str:
    """Why something in a folder is left out that is left out itself."""
    return f"in {folder_path}, which is left out: {detail}"


def refused(path: str, error: OSError) -> LeftOut:
    """What the system said when asked about ``path``."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return LeftOut(path, Reason.VANISHED, "gone when it was looked at")
    return LeftOut(path, Reason.UNREADABLE, f"the system refuses: {error.strerror or error}")


def _link(path: str, full: str, root: Path) -> LeftOut:
    try:
        target = os.path.realpath(full, strict=True)
        top = os.path.realpath(root)
        shown = Path(full).readlink()
    except OSError as error:
        return LeftOut(path, Reason.LINK, f"a link that leads nowhere: {error.strerror or error}")
    if target != top and not target.startswith(top.rstrip(os.sep) + os.sep):
        return LeftOut(path, Reason.OUTSIDE, f"a link to {shown}, outside the repository")
    return LeftOut(path, Reason.LINK, f"a link to {shown}; what is there is looked at there")
