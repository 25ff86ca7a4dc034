"""Where the userData folder is, and who may read it, as plain paths.

Relays need no more of it: there is one for each front end and each agent, and ``pathlib`` with what
it imports takes 0.7 MB of each, ``platformdirs`` 1 MB.
"""

import os
import stat
import sys
from collections.abc import Mapping

from codekernel.errors import StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from platformdirs import PlatformDirs

StrPath = str | os.PathLike[str]

# The second name is the one the existing front end already sets.
_USER_DATA_VARIABLES = ("CODEKERNEL_USER_DATA", "POCKETRAG_USERDATA_PATH")

_APPLICATION = "codekernel"


def locate_folder(argument: str | None, environ: Mapping[str, str]) -> str:
    """Return the absolute path of userData: the argument, else the environment, else the usual one.

    No file is touched. Raises StorageError if no home folder is known.
    """
    for choice in (argument, *(environ.get(name) for name in _USER_DATA_VARIABLES)):
        if choice:
            return _make_absolute(choice)
    return find_platform_folder()


def open_folder(argument: str | None, environ: Mapping[str, str]) -> str:
    """Return userData as ``locate_folder`` does; make an existing folder private."""
    folder = locate_folder(argument, environ)
    restrict_folder_to_owner(folder)
    return folder


def find_platform_folder() -> str:
    """Return the folder that the platform has for the data of a program. Raises StorageError."""
    place = ""
    if sys.platform == "linux" and not os.environ.get("XDG_DATA_HOME"):
        place = os.path.expanduser(f"~/.local/share/{_APPLICATION}")
    if not os.path.isabs(place):
        place = open_platform_dirs().user_data_dir
    if not os.path.isabs(place):
        # Without HOME and without an account entry, "~" stays a tilde.
        raise StorageError(
            "No home folder is known for this user: say where to keep the data"
            " with --user-data DIR or CODEKERNEL_USER_DATA."
        )
    return place


def open_platform_dirs(*, roaming: bool = False) -> "PlatformDirs":
    """Return the usual folders of the platform."""
    from platformdirs import PlatformDirs  # noqa: PLC0415 - seldom needed

    return PlatformDirs(_APPLICATION, appauthor=False, roaming=roaming)


def restrict_folder_to_owner(folder: StrPath) -> bool:
    """Remove other accounts' access to an existing folder; false if they keep it."""
    if not is_open_to_others(folder):
        return True
    if not can_restrict_folder(folder):
        return False
    try:
        os.chmod(folder, stat.S_IRWXU)
    except OSError:
        return False
    return True


def is_open_to_others(folder: StrPath) -> bool:
    """Return whether other accounts may read or write a folder; false if there is none."""
    if os.name == "nt":
        return False  # folders of a user inherit an access list
    try:
        return bool(os.stat(folder).st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        return False


def can_restrict_folder(folder: StrPath) -> bool:
    """Return whether the folder may be made private.

    Not a folder of another account, one with the sticky bit (``/tmp``), the home folder or one
    above it; what is made inside is private in any case.
    """
    make_path = load_path_class()
    try:
        seen = os.stat(folder)
        is_above_home = make_path.home().resolve().is_relative_to(make_path(folder).resolve())
    except (OSError, RuntimeError):  # no home folder is known
        return False
    is_own = os.name == "nt" or seen.st_uid == os.geteuid()
    return is_own and not seen.st_mode & stat.S_ISVTX and not is_above_home


def _make_absolute(folder: str) -> str:
    """Return the path as ``Path.absolute`` does: links and ``..`` stay in it."""
    if os.name == "nt":
        return str(load_path_class()(folder).absolute())  # drives and roots
    whole = folder if folder.startswith("/") else f"{os.getcwd()}/{folder}"
    return "/" + "/".join(part for part in whole.split("/") if part not in {"", "."})


def load_path_class() -> "type[Path]":
    """Return pathlib.Path; the module takes 0.7 MB of each relay."""
    from pathlib import Path  # noqa: PLC0415 - seldom needed

    return Path
