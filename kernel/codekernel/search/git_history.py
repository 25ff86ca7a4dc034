"""Read the commits of a repository with git, without its configuration.

Git runs on a temporary git directory that shares only the objects, so nothing in the repository
can name a program, file or host. Nothing is written to the repository.
"""

import os
import re
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.child_process import CHILD_PROCESS_OPTIONS
from codekernel.errors import KernelError
from codekernel.files.git_repository import (
    find_common_dir,
    find_git_dir,
    find_work_tree_top,
    read_regular_file,
)

# As in git: a reference to itself ends somewhere.
MAX_SYMBOLIC_DEPTH = 5

MAX_REFERENCE_BYTES = 10_000

# Some 70 bytes per reference: more than a million of them.
MAX_PACKED_REFS_BYTES = 100_000_000

_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

_SYMBOLIC_PREFIX = "ref:"

# Git allows fewer names than this; what matters is that none leaves the folder.
_REFERENCE_NAME = re.compile(r"refs/(?!.*\.\.)[^\0\\:?*\[~^\s]+")

_REFTABLE_STUB = "refs/heads/.invalid"


class HistoryUnavailable(KernelError):
    """There is no git, or no history here; the message says which."""


@dataclass(frozen=True, slots=True)
class GitHead:
    """Where a repository keeps its objects, and the commit that is checked out."""

    top: Path
    common_dir: Path
    commit: str
    prefix: str  # of the folder asked about, from the top of its work tree; "" or with a slash


def read_head(folder: Path) -> GitHead:
    """Return what is checked out around a folder. Raises HistoryUnavailable."""
    real = Path(os.path.realpath(folder))
    top = find_work_tree_top(real)
    git_dir = find_git_dir(top) if top else None
    if top is None or git_dir is None:
        raise HistoryUnavailable(
            f"{folder} is not in a git repository, so there is no history to learn from"
        )
    common_dir = find_common_dir(git_dir)
    below = real.relative_to(top).as_posix()
    prefix = "" if below == "." else f"{below}/"
    return GitHead(top, common_dir, _resolve_head(folder, git_dir, common_dir), prefix)


def _resolve_head(folder: Path, git_dir: Path, common_dir: Path) -> str:
    """Follow HEAD to a commit."""
    name = "HEAD"
    for _ in range(MAX_SYMBOLIC_DEPTH):
        content = _read_reference(name, git_dir, common_dir)
        if _OBJECT_ID.fullmatch(content):
            return content
        if not content.startswith(_SYMBOLIC_PREFIX):
            break
        name = content.removeprefix(_SYMBOLIC_PREFIX).strip()
        if name == _REFTABLE_STUB:
            raise HistoryUnavailable(
                f"{folder} keeps its branches in a reftable, which is not read here"
            )
        if not _REFERENCE_NAME.fullmatch(name):
            break
    reason = "has a HEAD that cannot be read" if name == "HEAD" else "has no commits yet"
    raise HistoryUnavailable(f"{folder} {reason}, so there is no history to learn from")


def _read_reference(name: str, git_dir: Path, common_dir: Path) -> str:
    """Return a reference of this work tree, of the repository, or packed; "" if there is none."""
    for folder in dict.fromkeys((git_dir, common_dir)):
        content = read_regular_file(folder / name, follow_links=True, max_bytes=MAX_REFERENCE_BYTES)
        if content is not None:
            return os.fsdecode(content.strip())
    packed = read_regular_file(
        common_dir / "packed-refs", follow_links=True, max_bytes=MAX_PACKED_REFS_BYTES
    )
    pattern = rb"(?m)^([0-9a-f]+) %s$" % re.escape(os.fsencode(name))
    line = re.search(pattern, packed or b"")
    return line[1].decode() if line else ""


# A git without output for so long waits for something that will not come: an object that is a pipe,
# a disk that is gone.
SILENCE_TIMEOUT_SECONDS = 60.0

MAX_SHALLOW_BYTES = 10_000_000

_READ_BYTES = 65_536

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}

_CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{more}"

_SHA256 = "[extensions]\n\tobjectformat = sha256\n"

_SHA1_DIGITS = 40

# The defaults would do; these are set in case a later git has other defaults.
_OVERRIDES = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.alternateRefsCommand=",
    "protocol.allow=never",
    "i18n.logOutputEncoding=UTF-8",
)


class GitFailed(Exception):
    """Git ended with an error, or was killed because it was silent; the message says why."""


def stream_git(
    head: GitHead,
    arguments: Sequence[str],
    silence_timeout_seconds: float,
    index_file: Path | None = None,
) -> Generator[bytes]:
    """Yield what git writes, piece by piece; closing kills it. Raises GitFailed.

    ``index_file`` is the index that a command writes.
    """
    git = _find_git(head)
    _check_no_special_files(head.common_dir)
    overrides = [word for each in _OVERRIDES for word in ("-c", each)]
    with (
        tempfile.TemporaryDirectory(prefix="codekernel-git-") as git_dir,
        tempfile.TemporaryFile() as errors,
    ):
        _make_git_dir(Path(git_dir), head.common_dir, head.commit)
        with subprocess.Popen(
            [git, "--no-pager", *overrides, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=git_dir,
            env=_build_environment(git_dir, head.common_dir)
            | ({"GIT_INDEX_FILE": str(index_file)} if index_file else {}),
            bufsize=0,
            **CHILD_PROCESS_OPTIONS,
        ) as process:
            try:
                yield from _stream_pipe(process, silence_timeout_seconds)
                process.wait()
            finally:
                _kill_group(process)
        if process.returncode:
            errors.seek(0)
            raise GitFailed(_read_last_line(errors.read(_READ_BYTES)))


def _stream_pipe(
    process: "subprocess.Popen[bytes]", silence_timeout_seconds: float
) -> Iterator[bytes]:
    assert process.stdout  # noqa: S101 - Popen was asked for it
    silent = threading.Event()

    def end() -> None:
        silent.set()
        _kill_group(process)

    while True:
        timer = threading.Timer(silence_timeout_seconds, end)
        timer.daemon = True
        timer.start()
        try:
            piece = process.stdout.read(_READ_BYTES)
        finally:
            timer.cancel()
        if silent.is_set():
            raise GitFailed(f"it was ended, for it said nothing for {silence_timeout_seconds:g} s")
        if not piece:
            return
        yield piece


def _find_git(head: GitHead) -> str:
    """Return the path of git. Raises HistoryUnavailable if there is none outside the repository."""
    git = shutil.which("git")
    # Windows searches the current folder first, which may contain any program.
    if git is None or any(
        Path(git).resolve().is_relative_to(folder) for folder in (head.top, head.common_dir)
    ):
        raise HistoryUnavailable("git is not installed, and history is read with it")
    return git


def _check_no_special_files(common_dir: Path) -> None:
    """Raise GitFailed for a pipe in place of a file, on which git would wait for ever."""
    objects = common_dir / "objects"
    for path in (objects / "info" / "alternates", objects / "info" / "commit-graph"):
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise GitFailed(f"{path} is no file")
        except OSError:
            continue


def _make_git_dir(git_dir: Path, common_dir: Path, commit: str) -> None:
    """Make a bare repository without branches, with the boundary of a shallow clone."""
    for name in ("objects", "refs"):
        (git_dir / name).mkdir()
    (git_dir / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    is_sha1 = len(commit) == _SHA1_DIGITS
    config = _CONFIG.format(version=0 if is_sha1 else 1, more="" if is_sha1 else _SHA256)
    (git_dir / "config").write_text(config, encoding="ascii")
    shallow = read_regular_file(
        common_dir / "shallow", follow_links=True, max_bytes=MAX_SHALLOW_BYTES
    )
    if shallow is not None:
        (git_dir / "shallow").write_bytes(shallow)


def _build_environment(git_dir: str, common_dir: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in os.environ if not name.upper().startswith("GIT_")}
    objects = str(common_dir / "objects")
    return {**kept, **_ENVIRONMENT, "GIT_DIR": git_dir, "GIT_OBJECT_DIRECTORY": objects}


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill git and the processes it started, unless it has ended."""
    if process.returncode is not None:
        return
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _read_last_line(errors: bytes) -> str:
    text = errors.decode(errors="replace").strip()
    return text.splitlines()[-1] if text else "it ended without a word"


_COMMIT_FIELDS = 4


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and the files below the folder in which it changed more than white space."""

    id: str
    author: str
    mail: str
    message: str
    paths: tuple[str, ...]


def read_commits(
    root: Path, silence_timeout_seconds: float = SILENCE_TIMEOUT_SECONDS
) -> Generator[Commit]:
    """Yield all commits but merges that touch ``root``; closing kills git.

    Raises HistoryUnavailable.
    """
    separator = secrets.token_hex(16)  # in no message
    head = read_head(root)
    arguments = _build_log_arguments(head, separator)
    try:
        with closing(stream_git(head, arguments, silence_timeout_seconds)) as output:
            yield from map(_parse_commit, _split_records(output, separator.encode()))
    except GitFailed as error:
        raise HistoryUnavailable(f"git cannot read the history of {root}: {error}") from None


def _build_log_arguments(head: GitHead, separator: str) -> list[str]:
    below = [f"--relative={head.prefix}"] if head.prefix else []
    return [
        "log", "-z", "--no-merges", "--no-color", "--no-notes", "--no-renames", "--no-mailmap",
        "--no-decorate", "--no-show-signature", "--no-ext-diff", "--no-textconv",
        "--ignore-all-space", "--numstat", *below,
        f"--format={separator}%H%x00%an%x00%ae%x00%B%x00", head.commit, "--", head.prefix or ".",
    ]  # fmt: skip


def _split_records(output: Iterable[bytes], separator: bytes) -> Iterator[bytes]:
    """Yield what is between two separators."""
    rest = b""
    for piece in output:
        *records, rest = (rest + piece).split(separator)
        yield from filter(None, records)
    if rest:
        yield rest


def _parse_commit(record: bytes) -> Commit:
    fields = record.split(b"\0")
    name, author, mail, message = (
        field.decode(errors="replace") for field in fields[:_COMMIT_FIELDS]
    )
    changes = (field.lstrip(b"\n").split(b"\t", 2) for field in fields[_COMMIT_FIELDS:])
    paths = tuple(
        os.fsdecode(change[2])
        for change in changes
        if change[2:] and change[:2] != [b"0", b"0"]  # lines added, lines deleted, path
    )
    return Commit(name, author, mail, message, paths)
