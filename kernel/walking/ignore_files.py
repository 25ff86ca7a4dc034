"""Reading the files that say what is ignored, whatever a hostile tree puts in their place."""

import os
import stat
from pathlib import Path

from kernel.domain.confinement.folder_handle import FolderHandle

# A hostile rule file costs no more than this; git's own limit is 100 MB.
LARGEST_RULE_FILE_BYTES = 1_000_000
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
# O_NONBLOCK: opening a pipe that has the name of a rule file must not wait for a writer.
_OPEN = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


def read_plain_file(
    path: Path,
    *,
    follow: bool,
    limit: int = LARGEST_RULE_FILE_BYTES,
    folder: FolderHandle | None = None,
) -> bytes | None:
    """The whole file; None if there is none, it is no plain file, or is larger than ``limit``.

    ``follow`` says whether it may be a link: in a work tree no rule file may, as in git.
    ``folder`` is where it lies, if that is held open.
    """
    try:
        if folder is not None:
            descriptor = folder.open_file(path.name)
        else:
            descriptor = os.open(path, _OPEN | (0 if follow else _NOFOLLOW))
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:  # a descriptor
            content = file.read(limit + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return content if len(content) <= limit else None
