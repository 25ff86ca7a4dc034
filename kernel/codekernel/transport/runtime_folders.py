"""Where a socket lies that cannot lie in userData: in a private folder of the account.

Imported late, because few userData folders need it.
"""

import os
import sys
from hashlib import blake2b
from pathlib import Path
from tempfile import gettempdir


def list_runtime_sockets(user_data: str) -> list[str]:
    """Return the paths that the socket of a userData folder may have, the preferred one first."""
    name = blake2b(os.fsencode(user_data), digest_size=8).hexdigest()
    return [str(folder / f"{name}.sock") for folder in _list_runtime_folders()]


def _list_runtime_folders() -> list[Path]:
    if sys.platform == "win32":
        account = ""  # its temporary folder is the account's own
    else:
        account = f"-{os.geteuid()}"
    folders = [Path(gettempdir(), f"codekernel{account}")]
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given and Path(given).is_dir():
        folders.insert(0, Path(given, "codekernel"))
    return folders
