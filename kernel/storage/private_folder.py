"""Folders and files that only their owner may open, whatever the umask says."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from kernel.storage.failures import explain

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private_folder(folder: Path) -> None:
    """Make ``folder`` with mode 0700, or take other people's access to it away."""
    try:
        make_folders(folder)
        _tighten(folder, folder.stat())
    except OSError as error:
        raise explain(error, folder) from error


def make_folders(folder: Path) -> None:
    """Make ``folder`` and what is missing above it with mode 0700; raises OSError.

    What is there stays as it is.
    """
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)


def create_private_file(path: Path) -> None:
    """Make an empty file with mode 0600, or take other people's access to it away.

    For libraries that would create it with the umask's mode; what hinders us they find themselves.
    SQLite gives -wal and -shm the mode of the database. A database that is there is not opened: to
    close it again would end the locks that this process has on it.
    """
    with suppress(OSError):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
        except FileExistsError:
            _tighten(path, path.stat())


def close_to_others(folder: Path) -> bool:
    """Take other people's access to a folder that is there away; false if they keep it."""
    if not is_open_to_others(folder):
        return True
    if not is_ours_to_close(folder):
        return False
    try:
        folder.chmod(FOLDER_MODE)
    except OSError:
        return False
    return True


def is_open_to_others(folder: Path) -> bool:
    """Whether other accounts may look into a folder, or write there; false if there is none."""
    if os.name == "nt":
        return False  # a person's folders are theirs by the access list they inherit
    try:
        return bool(folder.stat().st_mode & _OTHERS)
    except OSError:
        return False


def is_ours_to_close(folder: Path) -> bool:
    """Whether nobody shares the folder on purpose; what we make inside is private in any case.

    Not ours: a folder of somebody else, one with the sticky bit (``/tmp``), the home folder and all
    above it.
    """
    try:
        seen = folder.stat()
        is_above_home = Path.home().resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # no home folder is known
        return False
    is_own = os.name == "nt" or seen.st_uid == os.geteuid()
    return is_own and not seen.st_mode & stat.S_ISVTX and not is_above_home


def close_files_to_others(folder: Path) -> None:
    """Do the same for everything below ``folder``, which may be changing meanwhile.

    What tantivy and LanceDB create has the umask's mode; nobody else reaches it, for the folder
    around it is private, but a copy or a backup of it would be open.
    """
    if os.name == "nt":
        return
    with suppress(OSError):  # gone, or not ours: whoever comes next tries again
        for where, folders, files in os.walk(folder):
            for name in (*folders, *files):
                with suppress(OSError):
                    path = Path(where, name)
                    _tighten(path, path.lstat())


def _tighten(path: Path, seen: os.stat_result) -> None:
    if os.name == "nt" or not seen.st_mode & _OTHERS or stat.S_ISLNK(seen.st_mode):
        return
    with suppress(PermissionError):  # someone else's folder is theirs to close
        path.chmod(stat.S_IMODE(seen.st_mode) & ~_OTHERS)
