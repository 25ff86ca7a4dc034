"""What a device may ask about the folder of a session, and what it is answered."""

from dataclasses import dataclass
from enum import StrEnum


class FolderQuestionKind(StrEnum):
    """What is asked: changes as git tells them, files, folders."""

    STATUS = "git-status"
    CHANGED_LINES = "git-diff-numstat"
    DIFF = "git-diff-file"
    FILE = "file"
    FIND = "files"
    LIST = "directory"


@dataclass(frozen=True, slots=True)
class FolderQuestion:
    """``path`` is below the folder; ``is_staged`` is about what will be committed."""

    kind: FolderQuestionKind
    path: str = ""
    is_staged: bool = False
    query: str = ""
    limit: int = 200


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file or folder; ``path`` is below the folder of the session, the time in milliseconds."""

    name: str
    path: str
    type: str
    size: int = 0
    modified_at: int = 0


@dataclass(frozen=True, slots=True)
class FolderAnswer:
    """``error`` is a sentence if there is no answer; ``content`` is base64."""

    error: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    content: str = ""
    size: int = 0
    modified_at: int = 0
    entries: tuple[FolderEntry, ...] = ()
