"""Where everything lies under userData, and where userData itself lies."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.private_folder import close_to_others

# The second name is the one the existing front end already sets.
_VARIABLES = ("CODEKERNEL_USER_DATA", "POCKETRAG_USERDATA_PATH")


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
    def conversations(self) -> Path:
        """The folder of conversation histories."""
        return self.root / "conversations"

    @property
    def browser_files(self) -> Path:
        """The folder of files that lead a browser to ``codekernel web``, a minute each."""
        return self.root / "browser"

    @property
    def logs(self) -> Path:
        """The folder of log files."""
        return self.root / "logs"

    @property
    def index(self) -> Path:
        """The folder of all indexes."""
        return self.root / "index"

    def index_of(self, repo_id: int) -> Path:
        """Return the folder of one repository's index."""
        return self.index / str(repo_id)

    def index_of_folder(self, folder: Path) -> Path:
        """Return the folder of the index of a folder that is not a registered repository."""
        name = blake2b(str(folder).encode(errors="surrogatepass"), digest_size=8).hexdigest()
        return self.index / f"folder-{name}"


def locate(argument: str | None, environ: Mapping[str, str]) -> UserData:
    """Find userData: the argument, else the environment, else the platform's own place.

    Touches no file.
    """
    for choice in (argument, *(environ.get(name) for name in _VARIABLES)):
        if choice:
            return UserData(Path(choice).absolute())
    return UserData(_platform_place())


def open_user_data(argument: str | None, environ: Mapping[str, str]) -> UserData:
    """Find userData as ``locate`` does, and close it to other people if it is there already."""
    user_data = locate(argument, environ)
    close_to_others(user_data.root)
    return user_data


def _platform_place() -> Path:
    from platformdirs import user_data_path  # noqa: PLC0415  # costs start-up time, rarely needed

    place = user_data_path("codekernel", appauthor=False)
    if not place.is_absolute():
        # Without HOME and without an account entry, "~" stays a tilde.
        raise StorageError(
            "No home folder is known for this user: say where to keep the data"
            " with --user-data DIR or CODEKERNEL_USER_DATA."
        )
    return place
