"""A repository's own history, newest commit first, as git tells it; nothing is written.

git is run as a child process, with nothing of the repository's configuration that could start a
program or contact another machine.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kernel.errors import KernelError

# Set inside a hook, these would lead git to another repository than the one that is asked about.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE")
_CAREFUL = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
_READ_BYTES = 65_536
_FIELDS = 4


class HistoryUnavailable(KernelError):
    """There is no git, or no history here; the message says which."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit and the files below the folder in which it changed more than white space."""

    id: str
    author: str
    mail: str
    message: str
    paths: tuple[str, ...]


def commits(root: Path) -> Generator[Commit]:
    """All commits but merges that touch ``root``; raises HistoryUnavailable.

    Leaving early ends git.
    """
    mark = secrets.token_hex(16)  # what separates commits must stand in no message
    process = subprocess.Popen(  # noqa: S603 - git, found outside the repository
        _command(root, mark),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    )
    assert process.stdout  # noqa: S101 - Popen was asked for it
    with process, closing(process.stdout):
        try:
            for record in _records(process.stdout, mark.encode()):
                yield _commit(record)
            said = process.stderr.read() if process.stderr else b""
        finally:
            process.kill()
    if process.returncode > 0:
        raise HistoryUnavailable(_explained(root, said))


def _command(root: Path, mark: str) -> list[str]:
    git = shutil.which("git")
    # Windows looks in the current folder first, and what lies there may be anybody's.
    if git is None or Path(git).resolve().is_relative_to(root):
        raise HistoryUnavailable("git is not installed, and history is read with it")
    return [
        git, "--no-pager", "-C", str(root),
        "-c", "log.showSignature=false", "-c", "i18n.logOutputEncoding=UTF-8",
        "log", "-z", "--no-merges", "--no-color", "--no-notes", "--no-renames",
        "--no-ext-diff", "--no-textconv", "--ignore-all-space", "--numstat", "--relative",
        f"--format={mark}%H%x00%an%x00%ae%x00%B%x00", "--", ".",
    ]  # fmt: skip


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return {**kept, **_CAREFUL, "LC_ALL": "C"}


def _records(output: IO[bytes], mark: bytes) -> Iterator[bytes]:
    """What stands between two marks."""
    waiting = b""
    while portion := output.read(_READ_BYTES):
        *whole, waiting = (waiting + portion).split(mark)
        yield from filter(None, whole)
    if waiting:
        yield waiting


def _commit(record: bytes) -> Commit:
    fields = record.split(b"\0")
    name, author, mail, message = (field.decode(errors="replace") for field in fields[:_FIELDS])
    changes = (field.lstrip(b"\n").split(b"\t", 2) for field in fields[_FIELDS:])
    paths = tuple(
        os.fsdecode(change[2])
        for change in changes
        if len(change) == 3 and change[:2] != [b"0", b"0"]  # noqa: PLR2004 - added, deleted, path
    )
    return Commit(name, author, mail, message, paths)


def _explained(root: Path, said: bytes) -> str:
    text = said.decode(errors="replace").strip()
    if "not a git repository" in text:
        return f"{root} is not in a git repository, so there is no history to learn from"
    if "does not have any commits" in text:
        return f"{root} has no commits yet, so there is no history to learn from"
    last = text.splitlines()[-1] if text else "it ended without a word"
    return f"git cannot read the history of {root}: {last}"
