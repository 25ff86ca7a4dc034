"""Folders of this machine, before they are repositories; all additions to the document."""

from codekernel.protocol.envelope import Message, ReplyData


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
