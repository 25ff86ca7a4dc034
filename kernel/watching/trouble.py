"""Why a folder cannot be watched, said so that a person knows what to do."""

import errno
from pathlib import Path

MEANWHILE = "Until then its files are looked at every few seconds."


def explain(error: OSError, root: Path) -> str:
    """Put ``error``, met while watching ``root``, into a sentence with advice."""
    reason = error.strerror or type(error).__name__
    advice = {
        errno.ENOSPC: (
            "the system's limit of watched folders is used up: raise fs.inotify.max_user_watches"
            " (sudo sysctl fs.inotify.max_user_watches=524288)"
        ),
        errno.EMFILE: (
            "the limit of watchers or of open files is used up: raise"
            " fs.inotify.max_user_instances (sudo sysctl fs.inotify.max_user_instances=512) or the"
            " open files limit (ulimit -n) of the account that runs codekernel"
        ),
        errno.ENFILE: (
            "the whole system has too many open files: close programs or raise fs.file-max"
        ),
        errno.ENOMEM: "the system is out of memory: close other programs",
        errno.EACCES: "the account that runs codekernel may not read it: change its permissions",
        errno.EPERM: "the account that runs codekernel may not read it: change its permissions",
    }.get(
        error.errno or 0,
        f"its file system does not offer that ({reason}): nothing need be done, or move the"
        " repository to a local disk",
    )
    return f"Changes in {root} cannot be noticed at once, {advice}. {MEANWHILE}"
