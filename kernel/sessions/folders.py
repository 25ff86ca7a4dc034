"""Whether a path can be a repository, asked without hanging on a folder that does not answer."""

import threading
import unicodedata
from pathlib import Path

from kernel.domain.repo import Repo
from kernel.errors import InvalidPath, RepoNameNotMatch, RepoNotExist

# A dead network drive answers after minutes or never; every window waits behind this question.
FOLDER_ANSWERS_WITHIN_SECONDS = 5.0


def registrable(path: str, name: str) -> Path:
    """The folder to register under ``name``; the checks come in the order the front end expects."""
    folder = Path(path)
    if "\0" in path or not folder.is_absolute():
        raise InvalidPath(f"the repository path must be absolute, got {path!r}")
    if not folder_is_there(folder):
        raise InvalidPath(f"there is no folder {path}; a repository must be an existing folder")
    if not folder.name or _normal(folder.name) != _normal(name):
        raise RepoNameNotMatch(
            f"the repository must be called {folder.name!r} like its folder, not {name!r}"
        )
    return folder


def must_be_there(repo: Repo) -> None:
    """Refuse a repository whose folder is gone."""
    if not folder_is_there(repo.path):
        raise RepoNotExist(
            f"the folder {repo.path} of repository {repo.name} is gone or does not answer; "
            "bring it back, or delete the repository from the list"
        )


def folder_is_there(folder: Path) -> bool:
    """Whether the folder exists and says so within a few seconds."""
    found = threading.Event()

    def look() -> None:
        if folder.is_dir():
            found.set()

    looking = threading.Thread(target=look, name="folder", daemon=True)
    looking.start()
    looking.join(FOLDER_ANSWERS_WITHIN_SECONDS)
    return found.is_set()


def _normal(name: str) -> str:
    """Names that look alike are alike: macOS stores accents in another form than one types."""
    return unicodedata.normalize("NFC", name)
