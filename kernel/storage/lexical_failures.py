"""What tantivy reports, said so that a person knows what to do.

The binding raises ValueError for whatever went wrong, and only its text tells a full disk from a
damaged file; what the engine did not foresee arrives as a panic, which is no Exception at all.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.failures import PASSING_ERRNOS, explain

_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)|Os \{ code: (\d+)")
_LOCK_IS_HELD = "LockBusy"
_ANY_FILE = "meta.json"  # the engine does not always say which file
_IN_THE_WAY = {errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENODEV, errno.ENXIO, errno.EIO}
_PANIC = "PanicException"  # of a module that cannot be imported


class IndexUnreadable(StorageError):
    """The words of a repository cannot be read as they lie there: make them anew."""


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what tantivy raises while it works in ``folder`` into a StorageError."""
    try:
        yield
    except OSError as error:
        if error.errno in _IN_THE_WAY:
            raise unreadable(folder, error.strerror or str(error)) from error
        raise explain(error, folder) from error
    except (ValueError, RuntimeError) as error:
        raise _in_words(str(error), folder) from error
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise unreadable(folder, str(error)) from error


def unreadable(folder: Path, reason: str) -> IndexUnreadable:
    """Say that the index in ``folder`` is of no use."""
    first_line = reason.partition("\n")[0]
    return IndexUnreadable(
        f"The index of words in {folder} cannot be read ({first_line}); it has to be made anew."
    )


def _in_words(said: str, folder: Path) -> StorageError:
    if _LOCK_IS_HELD in said:
        return StorageError(
            f"The index of words in {folder} is being written by another program:"
            " close the other codekernel that uses this folder, then try again."
        )
    if system := _SYSTEM_ERROR.search(said):
        number = int(system[1] or system[2])
        if number not in PASSING_ERRNOS:  # a folder in the place of a file, or worse
            return unreadable(folder, os.strerror(number))
        return explain(OSError(number, os.strerror(number)), folder / _ANY_FILE)
    return unreadable(folder, said)
