"""A folder in which an index of words can be read although its own cannot be written.

Tantivy takes a lock beside the files even to read them. Where that cannot be made, the files are
linked into a folder where it can; they are never changed once they are written.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_LOCKS = ".tantivy-"


@contextmanager
def readable_words(folder: Path) -> Iterator[Path]:
    """Yield the folder itself if a lock can be taken in it, else one of links. Raises OSError."""
    if _takes_locks(folder):
        yield folder
        return
    with ExitStack() as made:
        view = Path(
            made.enter_context(TemporaryDirectory(prefix="codekernel-", ignore_cleanup_errors=True))
        )
        for name in os.listdir(folder):  # noqa: PTH208 - names are all that is looked at
            if not name.startswith(_LOCKS):
                (view / name).symlink_to((folder / name).absolute())
        yield view


def _takes_locks(folder: Path) -> bool:
    try:
        os.close(os.open(folder / f"{_LOCKS}meta.lock", os.O_RDWR | os.O_CREAT, 0o600))
    except OSError:
        return False
    return True
