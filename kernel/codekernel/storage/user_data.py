"""The userData folder: where every file in it lies.

How folders and files are kept private to their owner (0700, 0600).
"""

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
    """Make ``folder`` with mode 0700, or take other people's access to it away."""
    try:
        make_private_parents(folder)
        _restrict_mode(folder, folder.stat())
    except OSError as error:
        raise explain_os_error(error, folder) from error


def make_private_parents(folder: Path) -> None:
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
            _restrict_mode(path, path.stat())


def restrict_folder_to_owner(folder: Path) -> bool:
    """Take other people's access to a folder that is there away; false if they keep it."""
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
    """Whether other accounts may look into a folder, or write there; false if there is none."""
    if os.name == "nt":
        return False  # a person's folders are theirs by the access list they inherit
    try:
        return bool(folder.stat().st_mode & _GROUP_AND_OTHER_BITS)
    except OSError:
        return False


def can_restrict_folder(folder: Path) -> bool:
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


def restrict_tree_to_owner(folder: Path) -> None:
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
                    _restrict_mode(path, path.lstat())


def _restrict_mode(path: Path, seen: os.stat_result) -> None:
    if os.name == "nt" or not seen.st_mode & _GROUP_AND_OTHER_BITS or stat.S_ISLNK(seen.st_mode):
        return
    with suppress(PermissionError):  # someone else's folder is theirs to close
        path.chmod(stat.S_IMODE(seen.st_mode) & ~_GROUP_AND_OTHER_BITS)


# The second name is the one the existing front end already sets.
_USER_DATA_VARIABLES = ("CODEKERNEL_USER_DATA", "POCKETRAG_USERDATA_PATH")


@dataclass(frozen=True, slots=True)
class UserData:
    """The one folder the kernel writes to; ``root`` is absolute."""

    root: Path

    @property
    def settings_file(self) -> Path:
        """The settings in force."""
        return self.root / "settings.json"

    @property
    def modified_settings_file(self) -> Path:
        """The settings the front end proposes."""
        return self.root / "settings-modified.json"

    @property
    def database_folder(self) -> Path:
        """The vault and all that belongs to it; nobody else may look inside."""
        return self.root / "db"

    @property
    def database_file(self) -> Path:
        """The encrypted database."""
        return self.database_folder / "kernel.db"

    @property
    def key_file(self) -> Path:
        """The vault's key, where no keyring answered when the vault was made."""
        return self.database_folder / "kernel.key"

    @property
    def vault_id_file(self) -> Path:
        """The name under which the OS keyring holds the vault's key."""
        return self.database_folder / "vault-id"

    @property
    def repo_list_file(self) -> Path:
        """The list of repositories, for the day on which the vault cannot be read."""
        return self.database_folder / "repositories.json"

    @property
    def lock_file(self) -> Path:
        """Held for as long as a kernel serves this folder."""
        return self.database_folder / "kernel.lock"

    @property
    def opening_lock_file(self) -> Path:
        """Held by any process for the moment in which it opens the vault."""
        return self.database_folder / "opening.lock"

    @property
    def conversations_folder(self) -> Path:
        """The folder of conversation histories."""
        return self.root / "conversations"

    @property
    def browser_folder(self) -> Path:
        """The folder of files that lead a browser to ``codekernel web``, a minute each."""
        return self.root / "browser"

    @property
    def logs_folder(self) -> Path:
        """The folder of log files."""
        return self.root / "logs"

    @property
    def indexes_folder(self) -> Path:
        """The folder of all indexes."""
        return self.root / "index"

    def repo_index_folder(self, repo_id: int) -> Path:
        """Return the folder of one repository's index."""
        return self.indexes_folder / str(repo_id)

    def folder_index_folder(self, folder: Path) -> Path:
        """Return the folder of the index of a folder that is not a registered repository."""
        name = blake2b(str(folder).encode(errors="surrogatepass"), digest_size=8).hexdigest()
        return self.indexes_folder / f"folder-{name}"


def locate_user_data(argument: str | None, environ: Mapping[str, str]) -> UserData:
    """Find userData: the argument, else the environment, else the platform's own place.

    Touches no file.
    """
    for choice in (argument, *(environ.get(name) for name in _USER_DATA_VARIABLES)):
        if choice:
            return UserData(Path(choice).absolute())
    return UserData(_find_platform_folder())


def open_user_data(argument: str | None, environ: Mapping[str, str]) -> UserData:
    """Find userData as ``locate`` does, and close it to other people if it is there already."""
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
