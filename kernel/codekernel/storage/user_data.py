"""The userData folder: the path of every file in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codekernel.errors import StorageError
from codekernel.storage.user_data_folder import (
    find_platform_folder,
    locate_folder,
    open_folder,
    open_platform_dirs,
)

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
    savings_file = _PathInside("savings.json")  # what agents did not read
    browser_folder = _PathInside("browser")  # files that lead a browser to ``codekernel web``
    web_ports_file = _PathInside("browser", "ports")  # where ``codekernel web`` was served
    logs_folder = _PathInside("logs")
    indexes_folder = _PathInside(INDEXES_FOLDER)  # one folder for each index
    shared_vectors_folder = _PathInside(SHARED_VECTORS_FOLDER)  # one database for each model
    clones_folder = _PathInside("clones")  # repositories whose URLs were searched
    sharing_folder = _PathInside("sharing")  # what is known of the team's store
    team_folder = _PathInside("team")  # rights, tokens and audit log of ``serve --team``
    remote_folder = _PathInside("remote")  # consents for remote models, and which those are

    def repo_index_folder(self, repo_id: int) -> Path:
        """Return the folder of one repository's index."""
        return self.indexes_folder / str(repo_id)


def locate_user_data(argument: str | None, environ: Mapping[str, str]) -> UserData:
    """Return userData: the argument, else the environment, else the platform's own folder.

    No file is touched.
    """
    return UserData(Path(locate_folder(argument, environ)))


def find_earlier_desktop_folder(user_data: UserData) -> UserData | None:
    """Return where the desktop app of version 0.2 kept its data, if that is another folder.

    None if userData is not the platform's own folder: a folder that was chosen has its data only.
    """
    try:
        if user_data.root != Path(find_platform_folder()):
            return None
        # Electron's: ~/.config on Linux, Application Support on macOS, the roaming AppData.
        earlier = open_platform_dirs(roaming=True).user_config_path
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
    return UserData(Path(open_folder(argument, environ)))
