"""A repository's own history, newest commit first, as git tells it; nothing is written there."""

import os
import secrets
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel.errors import KernelError
from kernel.search.git_head import GitHead, UnreadableHead, read_head
from kernel.search.git_process import MAX_SILENCE_SECONDS, GitFailed, GitMissing, GitProcess

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


def commits(root: Path, max_silence_seconds: float = MAX_SILENCE_SECONDS) -> Generator[Commit]:
    """All commits but merges that touch ``root``; raises HistoryUnavailable.

    Leaving early ends git.
    """
    mark = secrets.token_hex(16)  # what separates commits must stand in no message
    try:
        head = read_head(root)
        output = GitProcess(head, _log(head, mark)).output(max_silence_seconds)
        try:
            yield from map(_commit, _records(output, mark.encode()))
        finally:
            output.close()
    except UnreadableHead as error:
        raise HistoryUnavailable(f"{root} {error}") from None
    except GitMissing:
        raise HistoryUnavailable("git is not installed, and history is read with it") from None
    except GitFailed as error:
        raise HistoryUnavailable(f"git cannot read the history of {root}: {error}") from None


def _log(head: GitHead, mark: str) -> list[str]:
    below = [f"--relative={head.prefix}"] if head.prefix else []
    return [
        "log", "-z", "--no-merges", "--no-color", "--no-notes", "--no-renames", "--no-mailmap",
        "--no-decorate", "--no-show-signature", "--no-ext-diff", "--no-textconv",
        "--ignore-all-space", "--numstat", *below,
        f"--format={mark}%H%x00%an%x00%ae%x00%B%x00", head.commit, "--", head.prefix or ".",
    ]  # fmt: skip


def _records(output: Iterable[bytes], mark: bytes) -> Iterator[bytes]:
    """What stands between two marks."""
    waiting = b""
    for piece in output:
        *whole, waiting = (waiting + piece).split(mark)
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
