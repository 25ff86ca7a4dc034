"""The userData folder: the path of every file in it, and who may read it.

Imports little: relays, of which there is one for each front end and each MCP client, need the path
alone, and take 10 MB each.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codekernel.errors import StorageError
from codekernel.storage.safe_files import FOLDER_MODE

if TYPE_CHECKING:
    from platformdirs import PlatformDirs

# The second name is the one the existing front end already sets.
_USER_DATA_VARIABLES = ("CODEKERNEL_USER_DATA", "POCKETRAG_USERDATA_PATH")


INDEXES_FOLDER = "index"

SHARED_VECTORS_FOLDER = "vectors"

# In the folder of an index; held by the process that writes it.
WRITER_LOCK_FILE = "writer.lock"


class _PathInside:
    """A path below ``root`` of a UserData."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, user_data: "UserData", owner: "type[UserData]") -> Path:
        return user_data.root.joinpath(*self._parts)


class UserData:
    """The one folder the kernel writes to; ``root`` is absolute.

    No dataclass: importing that library takes a megabyte in every client.
    """

    def __init__(self, root: Path) -> None:
        self.root: Final = root

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserData) and self.root == other.root

    def __hash__(self) -> int:
        return hash(self.root)

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
    merge_plan_file = _PathInside("merging.json")  # while this folder is taken over by another
    taken_over_file = _PathInside("taken-over.json")  # once it is
    agent_folder = _PathInside("agent")  # sessions, undo journals, temporary files
    sync_database_file = _PathInside("agent", "sync.db")  # the sessions that all devices see
    agent_installs_file = _PathInside("agent-installs.json")  # what agents' config files got
    browser_folder = _PathInside("browser")  # files that lead a browser to ``codekernel web``
    web_ports_file = _PathInside("browser", "ports")  # where ``codekernel web`` was served
    logs_folder = _PathInside("logs")
    indexes_folder = _PathInside(INDEXES_FOLDER)  # one folder for each index
    shared_vectors_folder = _PathInside(SHARED_VECTORS_FOLDER)  # one database for each model
    sharing_folder = _PathInside("sharing")  # what is known of the team's store

    def repo_index_folder(self, repo_id: int) -> Path:
        """Return the folder of one repository's index."""
        return self.indexes_folder / str(repo_id)


def locate_user_data(argument: str | None, environ: Mapping[str, str]) -> UserData:
    """Return userData: the argument, else the environment, else the platform's own folder.

    No file is touched.
    """
    for choice in (argument, *(environ.get(name) for name in _USER_DATA_VARIABLES)):
        if choice:
            return UserData(Path(choice).absolute())
    return UserData(_find_platform_folder())


def find_earlier_desktop_folder(user_data: UserData) -> UserData | None:
    """Return where the desktop app of version 0.2 kept its data, if that is another folder.

    None if userData is not the platform's own folder: a folder that was chosen has its data only.
    """
    try:
        if user_data.root != _find_platform_folder():
            return None
        # Electron's: ~/.config on Linux, Application Support on macOS, the roaming AppData.
        earlier = _open_platform_dirs(roaming=True).user_config_path
    except (StorageError, RuntimeError):  # no home folder is known
        return None
    return UserData(earlier) if earlier.is_absolute() and earlier != user_data.root else None


def has_untaken_data(folder: UserData) -> bool:
    """Return whether a folder has anything that was not taken over by another one yet."""
    kept = (
        folder.database_file,
        folder.repo_list_file,
        folder.settings_file,
        folder.conversations_folder,
        folder.agent_folder,
    )
    return not folder.taken_over_file.exists() and any(each.exists() for each in kept)


def open_user_data(argument: str | None, environ: Mapping[str, str]) -> UserData:
    """Return userData as ``locate_user_data`` does; make an existing folder private."""
    user_data = locate_user_data(argument, environ)
    restrict_folder_to_owner(user_data.root)
    return user_data


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
        return bool(folder.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
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


def _find_platform_folder() -> Path:
    place = _open_platform_dirs().user_data_path
    if not place.is_absolute():
        # Without HOME and without an account entry, "~" stays a tilde.
        raise StorageError(
            "No home folder is known for this user: say where to keep the data"
            " with --user-data DIR or CODEKERNEL_USER_DATA."
        )
    return place


def _open_platform_dirs(*, roaming: bool = False) -> "PlatformDirs":
    from platformdirs import PlatformDirs  # noqa: PLC0415 - costs start-up time, rarely needed

    return PlatformDirs("codekernel", appauthor=False, roaming=roaming)
