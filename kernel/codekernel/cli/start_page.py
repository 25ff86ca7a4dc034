"""The first page of ``codekernel web``: the folder it was started in, registered and indexed."""

import threading
from pathlib import Path
from urllib.parse import quote

from codekernel.adapters.web.kernel_client import CallFailed
from codekernel.adapters.web.sessions import RepoSession
from codekernel.adapters.web.web_client import WebAdapter
from codekernel.cli.folder_session import describe_gaps, is_complete
from codekernel.cli.output.terminal import print_notice
from codekernel.protocol.envelope import MAIN_SESSION_ID

# The page waits for the registration, which waits for the kernel to be loaded.
START_PAGE_TIMEOUT_SECONDS = 10.0

# Nobody waits for the notice that the index is complete.
POLL_INTERVAL_SECONDS = 1.0

_REPOSITORIES_PAGE = "/repos.html"


class StartPage:
    """The first page; ``folder`` is None where there is no project to start with."""

    def __init__(self, adapter: WebAdapter, folder: Path | None) -> None:
        self._adapter = adapter
        self._folder = folder
        self._address = _REPOSITORIES_PAGE
        self._is_known = threading.Event()

    def wait_for_address(self) -> str:
        """Return the address of the first page, once it is known."""
        self._is_known.wait(START_PAGE_TIMEOUT_SECONDS)
        return self._address

    def prepare(self) -> None:
        """Register the folder, have it indexed, and say when that is done."""
        try:
            session = self._open(self._folder) if self._folder else None
        except CallFailed as error:
            print_notice(f"{error} The browser shows the list of repositories.")
            session = None
        if session:
            self._address = f"/repository.html?repo={quote(session.repo_name, safe='')}"
        self._is_known.set()
        if session:
            self._announce_index(session)

    def _open(self, folder: Path) -> RepoSession:
        repos = self._adapter.kernel.request(MAIN_SESSION_ID, "getRepos")["repoList"]
        session = self._adapter.sessions.open_folder_in_advance(str(folder))
        if session.repo_name not in {each["name"] for each in repos}:
            print_notice(f"{folder} is registered as the repository {session.repo_name}")
        return session

    def _announce_index(self, session: RepoSession) -> None:
        name = session.repo_name
        print_notice(f"{name} is being indexed")
        pause = threading.Event()
        try:
            while True:
                status = self._adapter.kernel.request(session.id, "getIndexStatus")
                if is_complete(status, wants_vectors=True):
                    break
                pause.wait(POLL_INTERVAL_SECONDS)
        except CallFailed:
            return  # its tab was closed, or the kernel is stopping
        print_notice(f"{name} is indexed: {status['files']} files, {status['chunks']} chunks")
        for sentence in describe_gaps(status, wants_vectors=True):
            print_notice(sentence)
