"""Where a person begins in the browser: the folder they stand in, registered as a repository."""

import os
import threading
from collections.abc import Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from urllib.parse import quote

from kernel.cli.search_place import searched_folder
from kernel.cli.search_streams import say
from kernel.doors.web.door import WebDoor
from kernel.doors.web.failures import CallFailed
from kernel.errors import InvalidPath, KernelError, RepoNameExist
from kernel.protocol.envelope import MAIN_SESSION_ID
from kernel.storage.user_data import UserData

# The page waits for the registration, which waits for the kernel to be loaded.
KNOWN_WITHIN_SECONDS = 10.0
# The repository is indexed without a browser, too; but the first page comes first.
INDEXED_AFTER_SECONDS = 2.0
_ALL_REPOSITORIES = "/repos.html"


class Beginning:
    """The first page; ``folder`` is None where there is no project to begin with."""

    def __init__(
        self, door: WebDoor, user_data: UserData, environ: Mapping[str, str], folder: Path | None
    ) -> None:
        self._door = door
        self._user_data = user_data
        self._environ = environ
        self._folder = folder
        self._page = _ALL_REPOSITORIES
        self._known = threading.Event()

    def page(self) -> str:
        """The address of the first page, once it is known."""
        self._known.wait(KNOWN_WITHIN_SECONDS)
        return self._page

    def prepare(self) -> None:
        """Register the folder, and have it indexed."""
        try:
            name = self._registered(self._folder) if self._folder else None
        except (CallFailed, KernelError) as error:
            say(f"{error} The browser shows the list of repositories.")
            name = None
        if name is not None:
            self._page = f"/repository.html?repo={quote(name, safe='')}"
        self._known.set()
        if name is not None:
            threading.Event().wait(INDEXED_AFTER_SECONDS)
            self._index(name)

    def _index(self, name: str) -> None:
        try:
            if self._door.sessions.open_ahead(name):
                say(f"{name} is being indexed")
        except CallFailed as error:
            say(f"{name} cannot be indexed yet. {error}")

    def _registered(self, folder: Path) -> str:
        """The name under which the folder is registered, from now on if not before."""
        ask = self._door.exchange.ask
        known = {
            each["name"]: each["path"] for each in ask(MAIN_SESSION_ID, "getRepos")["repoList"]
        }
        for name, path in known.items():
            if os.path.realpath(path) == os.path.realpath(folder):
                return str(name)
        name = folder.name
        if name in known:
            name = self._added_under_free_name(folder)
        else:
            ask(MAIN_SESSION_ID, "createRepo", {"repoName": name, "path": str(folder)})
        say(f"{folder} is registered as the repository {name}")
        return name

    def _added_under_free_name(self, folder: Path) -> str:
        """Two folders may be called the same; the protocol has no word for that, the list has."""
        from kernel.storage.command_vault import CommandVault  # noqa: PLC0415
        from kernel.storage.repo_registry import RepoRegistry  # noqa: PLC0415 - seldom needed

        with closing(CommandVault(self._user_data, self._environ)) as vault:
            registry = RepoRegistry(vault)
            for number in count(2):
                try:
                    return registry.add(f"{folder.name}-{number}", folder).name
                except RepoNameExist:
                    continue
        raise AssertionError("numbers do not end")


def chosen_folder(argument: str | None) -> Path | None:
    """The folder asked for, else the repository around the current one, else the current one.

    None where somebody stands in a folder that is no project. Raises InvalidPath.
    """
    if argument is not None:
        if Path(argument).is_file():
            raise InvalidPath(f"{argument} is a file; name the folder around it")
        return searched_folder(argument)
    try:
        return searched_folder(None)
    except InvalidPath:
        say("this folder is no project; the browser shows the list of repositories")
        return None
