"""Repositories: which there are, and which window has which one open."""

from kernel.protocol.envelope import MAIN_SESSION_ID
from kernel.protocol.message import Data, Message


class GetRepos(Message, frozen=True, tag="getRepos"):
    """List the registered repositories."""


class RepoEntry(Data, frozen=True):
    """A repository as a list shows it."""

    name: str
    path: str


class GetReposReply(Data, frozen=True):
    """Every repository, in order of registration."""

    repo_list: list[RepoEntry]


class OpenRepo(Message, frozen=True, tag="openRepo"):
    """Open a repository for a window; ``sessionPrepared`` tells the window when it is usable."""

    repo_name: str
    session_id: int

    def __post_init__(self) -> None:
        if self.session_id == MAIN_SESSION_ID:
            raise ValueError("sessionId -1 means the main process; a window needs another id")


class OpenRepoReply(Data, frozen=True):
    """What was opened."""

    repo_name: str
    path: str


class CloseRepo(Message, frozen=True, tag="closeRepo"):
    """End a window's session; the document says sessionId here and windowId in the reply."""

    session_id: int | None = None
    window_id: int | None = None

    def __post_init__(self) -> None:
        if self.session_id is None and self.window_id is None:
            raise ValueError("Object missing required field `sessionId`")

    @property
    def window(self) -> int:
        """The window meant, whichever name was used."""
        named = self.session_id if self.session_id is not None else self.window_id
        return MAIN_SESSION_ID if named is None else named


class CreateRepo(Message, frozen=True, tag="createRepo"):
    """Register a folder; it is not opened."""

    repo_name: str
    path: str


class DeleteRepo(Message, frozen=True, tag="deleteRepo"):
    """Forget a repository and delete its index; the folder itself is never touched."""

    repo_name: str
