"""git run over a repository's objects, with no configuration but ours.

The configuration of a repository can name programs, files and hosts, and cannot be switched off.
So git never sees it: it is given a git folder of our own, made for one call, that borrows nothing
of the real one but the objects, and the commits to begin with by their ids. Of the environment no
variable of git's is left, and neither the user's nor the system's configuration is read.
"""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kernel.domain.child_process import CHILD_OPTIONS
from kernel.search.git_head import GitHead
from kernel.walking.ignore_files import read_plain_file

# A git that says nothing for so long waits for something that will not come: an object that is a
# pipe, a disk that is gone.
MAX_SILENCE_SECONDS = 60.0
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
# The defaults of these would already do; they are said so that no later default can differ.
_OVERRIDES = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.alternateRefsCommand=",
    "protocol.allow=never",
    "i18n.logOutputEncoding=UTF-8",
)


class GitMissing(Exception):
    """There is no git on this machine, or only one inside of the repository."""


class GitFailed(Exception):
    """git ended with a failure, or was ended because it was silent; says why."""


class GitProcess:
    """One call over the objects of a repository. Raises GitMissing."""

    def __init__(self, head: GitHead, words: Sequence[str]) -> None:
        self._common_dir = head.common_dir
        self._commit = head.commit
        self._words = words
        self._git = _find_git(head)

    def output(self, max_silence_seconds: float = MAX_SILENCE_SECONDS) -> Generator[bytes]:
        """What git writes, piece by piece; leaving early ends it. Raises GitFailed."""
        _refuse_special_files(self._common_dir)
        with (
            tempfile.TemporaryDirectory(prefix="codekernel-git-") as scratch,
            tempfile.TemporaryFile() as complaints,
        ):
            _make_git_dir(Path(scratch), self._common_dir, self._commit)
            with self._started(scratch, complaints) as (process, pipe):
                yield from _pieces(process, pipe, max_silence_seconds)
                code = process.wait()
            if code:
                complaints.seek(0)
                raise GitFailed(_last_line(complaints.read(_READ_BYTES)))

    @contextmanager
    def _started(
        self, scratch: str, complaints: IO[bytes]
    ) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes]]]:
        settings = [word for each in _OVERRIDES for word in ("-c", each)]
        process = subprocess.Popen(  # noqa: S603 - git, found outside the repository
            [self._git, "--no-pager", *settings, *self._words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd=scratch,
            env=_environment(scratch, self._common_dir),
            bufsize=0,
            **CHILD_OPTIONS,
        )
        assert process.stdout  # noqa: S101 - Popen was asked for it
        try:
            yield process, process.stdout
        finally:
            _kill_group(process)
            process.stdout.close()
            process.wait()


def _pieces(
    process: "subprocess.Popen[bytes]", pipe: IO[bytes], max_silence_seconds: float
) -> Iterator[bytes]:
    silent = threading.Event()

    def end() -> None:
        silent.set()
        _kill_group(process)

    while True:
        timer = threading.Timer(max_silence_seconds, end)
        timer.daemon = True
        timer.start()
        try:
            piece = pipe.read(_READ_BYTES)
        finally:
            timer.cancel()
        if silent.is_set():
            raise GitFailed(f"it was ended, for it said nothing for {max_silence_seconds:g} s")
        if not piece:
            return
        yield piece


def _find_git(head: GitHead) -> str:
    git = shutil.which("git")
    # Windows looks in the current folder first, and what lies there may be anybody's.
    if git is None or any(
        Path(git).resolve().is_relative_to(folder) for folder in (head.top, head.common_dir)
    ):
        raise GitMissing
    return git


def _refuse_special_files(common_dir: Path) -> None:
    """A pipe where git expects a list of other object folders would be waited for."""
    objects = common_dir / "objects"
    for path in (objects / "info" / "alternates", objects / "info" / "commit-graph"):
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise GitFailed(f"{path} is no file")
        except OSError:
            continue


def _make_git_dir(scratch: Path, common_dir: Path, commit: str) -> None:
    """A bare repository without branches; the boundary of a shallow clone is taken over."""
    for name in ("objects", "refs"):
        (scratch / name).mkdir()
    (scratch / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    is_sha1 = len(commit) == _SHA1_DIGITS
    config = _CONFIG.format(version=0 if is_sha1 else 1, more="" if is_sha1 else _SHA256)
    (scratch / "config").write_text(config, encoding="ascii")
    shallow = read_plain_file(common_dir / "shallow", follow=True, limit=MAX_SHALLOW_BYTES)
    if shallow is not None:
        (scratch / "shallow").write_bytes(shallow)


def _environment(scratch: str, common_dir: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")
    }
    return {
        **kept,
        **_ENVIRONMENT,
        "GIT_DIR": scratch,
        "GIT_OBJECT_DIRECTORY": str(common_dir / "objects"),
    }


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """End git and whatever it may have started; nothing happens if it has ended and was heard."""
    if process.returncode is not None:
        return
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _last_line(complaints: bytes) -> str:
    text = complaints.decode(errors="replace").strip()
    return text.splitlines()[-1] if text else "it ended without a word"
