"""What LanceDB refused, said so that a person knows what to do.

LanceDB raises RuntimeError, OSError or ValueError with the operating system's number in the text;
what it did not foresee, such as a damaged manifest, arrives as a panic, which is no Exception.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.failures import PASSING_ERRNOS, explain

# Of modules that cannot be imported; the second comes out of a future.
_PANICS = {"PanicException", "RustPanic"}
_NUMBER = re.compile(r"os error (\d+)")
# On Windows the text has Windows' numbers: access denied, used by another, two kinds of full.
_FROM_WINDOWS = {5: errno.EACCES, 32: errno.EACCES, 39: errno.ENOSPC, 112: errno.ENOSPC}


class VectorsDamaged(StorageError):
    """The vectors cannot be used as they lie there; each can be made again from its text."""


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Put what LanceDB raises inside into a sentence."""
    try:
        yield
    except (RuntimeError, OSError, ValueError) as error:
        raise explain_lance(error, folder) from error
    except BaseException as error:
        if type(error).__name__ not in _PANICS:
            raise
        raise explain_lance(error, folder) from error


def explain_lance(error: BaseException, folder: Path) -> StorageError:
    """Put ``error``, met in the table in ``folder``, into a sentence."""
    number = _errno(error)
    if number is not None and number in PASSING_ERRNOS:
        return explain(OSError(number, os.strerror(number)), folder)
    # The text goes on with places in LanceDB's source, which tell a person nothing.
    reason = str(error).partition(", /")[0].splitlines()[0] if str(error) else type(error).__name__
    return VectorsDamaged(f"The vectors in {folder} cannot be read or written ({reason}).")


def _errno(error: BaseException) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = _NUMBER.search(str(error))
    if found is None:
        return None
    number = int(found[1])
    return _FROM_WINDOWS.get(number, errno.EIO) if os.name == "nt" else number
