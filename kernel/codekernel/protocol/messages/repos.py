"""Start and stop of the kernel and of sessions; registering, opening and closing repositories.

Reading lines of their files, and folders of this machine before they are repositories; these are
additions to the document.
"""

from typing import Annotated

from msgspec import Meta

from codekernel.protocol import MAIN_SESSION_ID
from codekernel.protocol.envelope import Message, ReplyData


class StopAll(Message, frozen=True, tag="stopAll"):
    """Front end -> kernel: end everything in order, then exit with 0."""


class Ready(Message, frozen=True, tag="ready"):
    """Kernel -> front end: listening."""


class SessionPrepared(Message, frozen=True, tag="sessionPrepared"):
    """Session -> window: requests to this session are answered from now on."""

    repo_name: str
    path: str


class SessionCrashed(Message, frozen=True, tag="sessionCrashed"):
    """Session -> window: this session is gone, its id is free, and no reply is expected."""

    error: str


class KernelServerCrashed(Message, frozen=True, tag="kernelServerCrashed"):
    """Kernel -> front end: the process ends now with a non-zero code; no reply is expected."""

    error: str


class GetRepos(Message, frozen=True, tag="getRepos"):
    """List the registered repositories."""


class WatchRepos(Message, frozen=True, tag="watchRepos"):
    """Send ``reposChanged`` to this client from now on."""


class ReposChanged(Message, frozen=True, tag="reposChanged"):
    """Kernel -> client: a repository was registered or deleted, by any client."""


class RepoEntry(ReplyData, frozen=True):
    """A repository as a list shows it."""

    name: str
    path: str


class GetReposReply(ReplyData, frozen=True):
    """Every repository, in order of registration."""

    repo_list: list[RepoEntry]


class OpenRepo(Message, frozen=True, tag="openRepo"):
    """Open a repository for a window; ``sessionPrepared`` tells the window when it is usable."""

    repo_name: str
    session_id: int

    def __post_init__(self) -> None:
        if self.session_id == MAIN_SESSION_ID:
            raise ValueError("sessionId -1 means the main process; a window needs another id")


class OpenRepoReply(ReplyData, frozen=True):
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


LineNumber = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class ReadLines(Message, frozen=True, tag="readLines"):
    """Show lines of a file: from ``beginLine``, counted from 0, up to ``endLine``, without it."""

    file_path: str
    begin_line: LineNumber
    end_line: LineNumber

    def __post_init__(self) -> None:
        if self.end_line < self.begin_line:
            raise ValueError("endLine is the line after the last one, and not before beginLine")


class ReadLinesReply(ReplyData, frozen=True):
    """The lines that are there; ``lineCount`` is that of the whole file."""

    content: str
    begin_line: int
    end_line: int
    line_count: int
    language: str


class ListFolders(Message, frozen=True, tag="listFolders"):
    """List the folders in a folder; without a path, in the home folder."""

    path: str = ""


class ChoosableFolder(ReplyData, frozen=True):
    """A folder; ``isRepository`` if it is the top of a git work tree."""

    name: str
    path: str
    is_repository: bool
    is_hidden: bool


class ListFoldersReply(ReplyData, frozen=True):
    """By name; ``parent`` is empty at the top, ``isComplete`` false if there are too many."""

    path: str
    parent: str
    folders: list[ChoosableFolder]
    is_complete: bool


class PreviewFolder(Message, frozen=True, tag="previewFolder"):
    """Say what would be indexed of a folder, and what that takes."""

    path: str


class LanguageShare(ReplyData, frozen=True):
    """The files of a language that would be indexed."""

    language: str
    files: int
    bytes: int


class PreviewFolderReply(ReplyData, frozen=True):
    """By names and sizes, without reading files.

    ``skipped`` counts files and whole folders by reason. ``isComplete`` is false for a folder that
    is too large to look through in time: then there is more. ``seconds`` and ``indexBytes`` are
    estimates for the default model.
    """

    path: str
    files: int
    bytes: int
    languages: list[LanguageShare]
    skipped: dict[str, int]
    seconds: float
    index_bytes: int
    is_complete: bool


class RegisterFolder(Message, frozen=True, tag="registerFolder"):
    """Register a folder under its name, or a free one; a registered one keeps its name."""

    path: str


class RegisterFolderReply(ReplyData, frozen=True):
    """The repository of the folder."""

    repo_name: str
    path: str
