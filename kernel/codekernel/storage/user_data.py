"""The userData folder: the path of every file in it, private to its owner (0700, 0600)."""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from codekernel.errors import StorageError
from codekernel.storage.os_errors import explain_os_error

FOLDER_MODE = 0o700

FILE_MODE = 0o600

_GROUP_AND_OTHER_BITS = stat.S_IRWXG | stat.S_IRWXO


def make_private_folder(folder: Path) -> None:
    """Make ``folder`` with mode 0700, or remove other accounts' access. Raises StorageError."""
    try:
        make_private_parents(folder)
        _restrict_mode(folder, folder.stat())
    except OSError as error:
        raise explain_os_error(error, folder) from error


def make_private_parents(folder: Path) -> None:
    """Make ``folder`` and what is missing above it with mode 0700; raises OSError."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)


def create_private_file(path: Path) -> None:
    """Make an empty file with mode 0600, or remove other accounts' access; ignore errors.

    For libraries that would create it with the umask's mode; they report errors themselves. SQLite
    gives -wal and -shm the mode of the database. An existing database is not opened: closing it
    would release the locks that this process has on it.
    """
    with suppress(OSError):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
        except FileExistsError:
            _restrict_mode(path, path.stat())


def restrict_folder_to_owner(folder: Path) -> bool:
    """Remove other accounts' access to an existing folder; false if they keep it."""
    if not is_open_to_others(folder):
        return True
    if not can_restrict_folder(folder):
        return False
    try:
        folder.chmod(FOLDER_MODE)
    except OSError:
        return False
    return True


def is_open_to_others(folder: Path) -> bool:
    """Return whether other accounts may read or write a folder; false if there is none."""
    if os.name == "nt":
        return False  # folders of a user inherit an access list
    try:
        return bool(folder.stat().st_mode & _GROUP_AND_OTHER_BITS)
    except OSError:
        return False


def can_restrict_folder(folder: Path) -> bool:
    """Return whether the folder may be made private.

    Not a folder of another account, one with the sticky bit (``/tmp``), the home folder or one
    above it; what is made inside is private in any case.
    """
    try:
        seen = folder.stat()
        is_above_home = Path.home().resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # no home folder is known
        return False
    is_own = os.name == "nt" or seen.st_uid == os.geteuid()
    return is_own and not seen.st_mode & stat.S_ISVTX and not is_above_home


def restrict_tree_to_owner(folder: Path) -> None:
    """Remove other accounts' access to everything below ``folder``, which may be changing.

    What tantivy and LanceDB create has the umask's mode; the folder around it is private, but a
    copy or a backup of it would be readable.
    """
    if os.name == "nt":
        return
    with suppress(OSError):  # gone, or of another account
        for where, folders, files in os.walk(folder):
            for name in (*folders, *files):
                with suppress(OSError):
                    path = Path(where, name)
                    _restrict_mode(path, path.lstat())


def _restrict_mode(path: Path, seen: os.stat_result) -> None:
    if os.name == "nt" or not seen.st_mode & _GROUP_AND_OTHER_BITS or stat.S_ISLNK(seen.st_mode):
        return
    with suppress(PermissionError):  # a folder of another account
        path.chmod(stat.S_IMODE(seen.st_mode) & ~_GROUP_AND_OTHER_BITS)


# The second name is the one the existing front end already sets.
_USER_DATA_VARIABLES = ("CODEKERNEL_USER_DATA", "POCKETRAG_USERDATA_PATH")


class _PathInside:
    """A path below ``root`` of a UserData."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, user_data: "UserData", owner: "type[UserData]") -> Path:
        return user_data.root.joinpath(*self._parts)


@dataclass(frozen=True, slots=True)
class UserData:
    """The one folder the kernel writes to; ``root`` is absolute."""

    root: Path

    settings_file = _PathInside("settings.json")  # the settings in force
    modified_settings_file = _PathInside("settings-modified.json")  # those the front end proposes
    database_folder = _PathInside("db")  # the vault and its companions
    database_file = _PathInside("db", "kernel.db")  # the encrypted database
    key_file = _PathInside("db", "kernel.key")  # the vault's key, where no keyring answered
    vault_id_file = _PathInside("db", "vault-id")  # the name of the key in the OS keyring
    repo_list_file = _PathInside("db", "repositories.json")  # in case the vault cannot be read
    lock_file = _PathInside("db", "kernel.lock")  # held while a kernel serves this folder
    opening_lock_file = _PathInside("db", "opening.lock")  # held while the vault is opened
    conversations_folder = _PathInside("conversations")  # conversation histories
    browser_folder = _PathInside("browser")  # files that lead a browser to ``codekernel web``
    logs_folder = _PathInside("logs")
    indexes_folder = _PathInside("index")  # one folder for each index

    def repo_index_folder(self, repo_id: int) -> Path:
        """Return the folder of one repository's index."""
        return self.indexes_folder / str(repo_id)

    def folder_index_folder(self, folder: Path) -> Path:
        """Return the folder of the index of a folder that is not a registered repository."""
        name = blake2b(str(folder).encode(errors="surrogatepass"), digest_size=8).hexdigest()
        return self.indexes_folder / f"folder-{name}"


def locate_user_data(argument: str | None, environ: Mapping[str, str]) -> UserData:
    """Return userData: the argument, else the environment, else the platform's own folder.

    No file is touched.
    """
    for choice in (argument, *(environ.get(name) for name in _USER_DATA_VARIABLES)):
        if choice:
            return UserData(Path(choice).absolute())
    return UserData(_find_platform_folder())


def open_user_data(argument: str | None, environ: Mapping[str, str]) -> UserData:
    """Return userData as ``locate_user_data`` does; make an existing folder private."""
    user_data = locate_user_data(argument, environ)
    restrict_folder_to_owner(user_data.root)
    return user_data


def _find_platform_folder() -> Path:
    from platformdirs import user_data_path  # noqa: PLC0415  # costs start-up time, rarely needed

    place = user_data_path("codekernel", appauthor=False)
    if not place.is_absolute():
        # Without HOME and without an account entry, "~" stays a tilde.
        raise StorageError(
            "No home folder is known for this user: say where to keep the data"
            " with --user-data DIR or CODEKERNEL_USER_DATA."
        )
    return place
