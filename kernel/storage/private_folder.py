"""Folders that only their owner may enter."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from kernel.storage.failures import explain

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private_folder(folder: Path) -> None:
    """Make ``folder`` with mode 0700, or take other people's access to it away."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name != "nt" and folder.stat().st_mode & _OTHERS:
            with suppress(PermissionError):  # someone else's folder is theirs to close
                folder.chmod(0o700)
    except OSError as error:
        raise explain(error, folder) from error
