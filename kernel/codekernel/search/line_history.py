"""The commits behind a file or lines of it, read with git: which changed them, and why.

Lines are those of the file on disk; what git is asked about are the same lines as they were
committed. Each answer is bounded in commits and in time.
"""

import re
import secrets
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.domain.diff import DiffOp, compute_diff_runs
from codekernel.search.git_history import (
    GitFailed,
    GitHead,
    HistoryUnavailable,
    read_head,
    stream_git,
)

# Of one answer; an agent that wants more has git.
DEFAULT_COMMITS = 10

HISTORY_TIMEOUT_SECONDS = 20.0

MAX_GIT_BYTES = 20_000_000

MAX_BODY_CHARS = 600

_FIELDS = 5

_BLAME_LINE = re.compile(rb"(?m)^([0-9a-f]{40,64}) \d+ (\d+)")


@dataclass(frozen=True, slots=True)
class LineCommit:
    """A commit; ``lines`` are those of today, from 1, that come from it."""

    id: str
    date: str
    author: str
    subject: str
    body: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LineHistory:
    """Commits, newest first, and what is to be known about them."""

    commits: tuple[LineCommit, ...]
    has_more: bool = False
    # Lines that are not committed as they are now.
    uncommitted: tuple[int, ...] = ()
    remarks: tuple[str, ...] = field(default=())


def read_line_history(
    root: Path,
    path: str,
    lines: tuple[int, int] | None = None,
    limit: int = DEFAULT_COMMITS,
) -> LineHistory:
    """Return the history of a file below ``root``, or of lines of it. Raises HistoryUnavailable."""
    git = _GitReader(read_head(root), time.monotonic() + HISTORY_TIMEOUT_SECONDS)
    committed = f"{git.head.prefix}{path}"
    remarks = []
    if (git.head.common_dir / "shallow").exists():
        remarks.append("this clone is shallow: older commits are not here")
    try:
        if lines is None:
            commits = git.read_commits(["--follow"], ["--", committed], limit + 1)
            return LineHistory(tuple(commits[:limit]), len(commits) > limit, (), tuple(remarks))
        now_by_then, uncommitted = _map_lines(git, root / path, committed, lines)
    except GitFailed as error:
        raise HistoryUnavailable(f"git cannot read the history of {path}: {error}") from None
    if not now_by_then:
        return LineHistory((), uncommitted=uncommitted, remarks=tuple(remarks))
    first, last = min(now_by_then), max(now_by_then)
    blamed: dict[str, tuple[int, ...]] = {}
    commits = []
    try:
        blamed = git.read_blame(committed, first, last, now_by_then)
        commits = git.read_commits([f"-L{first},{last}:{committed}"], [], limit + 1)
    except GitFailed as error:
        remarks.append(f"not all commits were found: {error}")
    if not commits:  # too slow: at least those that the lines come from
        commits = git.read_commits(["--no-walk"], [], limit + 1, list(blamed))
    shown = tuple(
        LineCommit(
            each.id, each.date, each.author, each.subject, each.body, blamed.get(each.id, ())
        )
        for each in commits[:limit]
    )
    return LineHistory(shown, len(commits) > limit, uncommitted, tuple(remarks))


class _GitReader:
    """Git within one deadline."""

    def __init__(self, head: GitHead, deadline: float) -> None:
        self.head = head
        self._deadline = deadline

    def run(self, arguments: Sequence[str]) -> bytes:
        """Return what git writes. Raises GitFailed."""
        left = max(0.1, self._deadline - time.monotonic())
        pieces: list[bytes] = []
        size = 0
        with closing(stream_git(self.head, arguments, left)) as output:
            for piece in output:
                pieces.append(piece)
                size += len(piece)
                if size > MAX_GIT_BYTES or time.monotonic() > self._deadline:
                    raise GitFailed("it took too long")
        return b"".join(pieces)

    def read_commits(
        self,
        options: Sequence[str],
        paths: Sequence[str],
        limit: int,
        commits: Sequence[str] = (),
    ) -> list[LineCommit]:
        """Return the first commits that ``git log`` names."""
        separator = secrets.token_hex(16)  # in no message
        form = "%H%x00%as%x00%an%x00%s%x00%b"
        arguments = [
            "log", "-s", "--no-color", "--no-notes", "--no-decorate", "--no-show-signature",
            "--no-ext-diff", "--no-textconv", f"-n{limit}", f"--format={separator}{form}",
            *options, *(commits or [self.head.commit]), *paths,
        ]  # fmt: skip
        records = self.run(arguments).decode(errors="replace").split(separator)
        return [_parse_record(record) for record in records if record.count("\0") >= _FIELDS - 1]

    def read_blame(
        self, path: str, first: int, last: int, now_by_then: dict[int, int]
    ) -> dict[str, tuple[int, ...]]:
        """Return for each commit the lines of today that come from it."""
        arguments = ["blame", "--porcelain", f"-L{first},{last}", self.head.commit, "--", path]
        found: dict[str, tuple[int, ...]] = {}
        for commit, line in _BLAME_LINE.findall(self.run(arguments)):
            if now := now_by_then.get(int(line)):
                found[commit.decode()] = (*found.get(commit.decode(), ()), now)
        return found


def _parse_record(record: str) -> LineCommit:
    name, date, author, subject, body = record.split("\0", _FIELDS - 1)
    body = body.strip()
    cut = f"{body[:MAX_BODY_CHARS]}..." if len(body) > MAX_BODY_CHARS else body
    return LineCommit(name, date, author, subject, cut)


def _map_lines(
    git: _GitReader, file: Path, committed: str, lines: tuple[int, int]
) -> tuple[dict[int, int], tuple[int, ...]]:
    """Return lines of today by those of the commit, and those that are not committed."""
    before = git.run(["cat-file", "blob", f"{git.head.commit}:{committed}"]).splitlines()
    try:
        after = file.read_bytes().splitlines()
    except OSError as error:
        raise HistoryUnavailable(f"{file.name} cannot be read: {error.strerror}") from None
    old = [line.decode(errors="surrogateescape") for line in before]
    new = [line.decode(errors="surrogateescape") for line in after]
    mapped: dict[int, int] = {}
    then = now = 0
    for run in compute_diff_runs(old, new):
        if run.op is DiffOp.KEPT:
            mapped |= {now + i + 1: then + i + 1 for i in range(run.count)}
        then += run.count if run.op is not DiffOp.ADDED else 0
        now += run.count if run.op is not DiffOp.REMOVED else 0
    wanted = range(lines[0], min(lines[1], len(new)) + 1)
    known = {mapped[line]: line for line in wanted if line in mapped}
    return known, tuple(line for line in wanted if line not in mapped)
