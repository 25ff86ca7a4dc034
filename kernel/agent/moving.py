"""A file, a link or a whole folder put somewhere else: all of it, or nothing is changed.

A rename where that is possible. To another disk it is copied first, put under its name at once,
and only then is what it was taken away, at once as well.
"""

import errno
import shutil
from pathlib import Path

from kernel.agent.writing import TEMPORARY_PREFIX
from kernel.storage.written_beside import flush_folder, temporary_name


def move(source: Path, target: Path) -> None:
    """Raises OSError; then everything is where it was."""
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_to_another_disk(source, target)
    flush_folder(source.parent)
    flush_folder(target.parent)


def _move_to_another_disk(source: Path, target: Path) -> None:
    copy = _hidden(target)
    try:
        _copy(source, copy)
        copy.rename(target)
    except (OSError, shutil.Error) as error:
        _remove(copy)
        raise error if isinstance(error, OSError) else OSError(str(error)) from error
    rest = _hidden(source)
    try:
        source.rename(rest)
    except OSError:
        _remove(target)
        raise
    _remove(rest)


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)


def _remove(path: Path) -> None:
    """As far as the system lets us; what is left has a name that says whose it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _hidden(path: Path) -> Path:
    return temporary_name(path, TEMPORARY_PREFIX)
