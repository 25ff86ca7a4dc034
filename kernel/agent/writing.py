"""Files of a person's repository, written whole or not at all: beside, flushed, then renamed.

What a kill leaves is the old file or the new one, and at the worst a temporary file beside it. A
power cut leaves one of them too; it may take the rename back, of which the journal says how it was
before (docs/decisions/0018-what-a-round-may-cost.md).
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from kernel.agent.failing import ToolFailed
from kernel.storage.written_beside import put_exclusively, written_beside

TEMPORARY_PREFIX = ".codekernel-"
_NEW_FILE_MODE = 0o666  # less the umask, as for every program
_WRITE_BITS = 0o222


def replace(path: Path, data: bytes, seen: os.stat_result) -> os.stat_result:
    """Put ``data`` in place of a file that was ``seen`` so, with its mode and owner.

    ``path`` is real: a link would be replaced. Raises ToolFailed if the file is protected or has
    been changed since, OSError.
    """
    if not seen.st_mode & _WRITE_BITS:
        raise ToolFailed(f"{path.name} is write-protected: change its mode first (chmod u+w).")
    with written_beside(path, data, _NEW_FILE_MODE, TEMPORARY_PREFIX) as temporary:
        _take_over(temporary, seen)
        if not is_same_state(path.lstat(), seen):
            raise ToolFailed(f"{path.name} was changed meanwhile by someone else: read it again.")
        temporary.replace(path)
    return path.stat()


def create(path: Path, data: bytes) -> os.stat_result:
    """Make a file; raises FileExistsError, and changes nothing, if there is something already."""
    with written_beside(path, data, _NEW_FILE_MODE, TEMPORARY_PREFIX) as temporary:
        put_exclusively(temporary, path)
    return path.stat()


def is_same_state(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether both are of one file that nobody has written to in between."""
    same_file = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    return same_file and (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def _take_over(temporary: Path, seen: os.stat_result) -> None:
    """Give the new file the owner and mode of the old one; the owner only if we may."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(temporary, seen.st_uid, seen.st_gid)
    temporary.chmod(stat.S_IMODE(seen.st_mode))
