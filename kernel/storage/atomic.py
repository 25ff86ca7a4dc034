"""Files that are there whole or not at all: written beside, flushed, then renamed into place.

Only their owner may open them, unless another mode is asked for.
"""

import os
from pathlib import Path

from kernel.storage.failures import explain
from kernel.storage.private_folder import FILE_MODE, make_folders
from kernel.storage.written_beside import flush_folder, put_exclusively, written_beside


def write_text(path: Path, content: str, *, mode: int = FILE_MODE) -> None:
    """Replace the file at ``path`` with ``content`` as UTF-8; line ends stay as they are."""
    write_bytes(path, content.encode(), mode=mode)


def write_bytes(path: Path, content: bytes, *, mode: int = FILE_MODE) -> None:
    """Replace the file at ``path``, making its folder if needed; the umask still applies."""
    # A settings file that is a link into someone's dotfiles stays a link.
    target = Path(os.path.realpath(path))
    try:
        make_folders(target.parent)
        with written_beside(target, content, mode, f".{target.name}.") as temporary:
            temporary.replace(target)
        flush_folder(target.parent)
    except OSError as error:
        raise explain(error, path) from error


def create_bytes(path: Path, content: bytes, *, mode: int = FILE_MODE) -> bool:
    """Make the file at ``path``; false, and nothing changed, if there already is one."""
    try:
        with written_beside(path, content, mode, f".{path.name}.") as temporary:
            put_exclusively(temporary, path)
        flush_folder(path.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise explain(error, path) from error
    return True
