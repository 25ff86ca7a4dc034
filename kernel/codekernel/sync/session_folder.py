"""Answer questions about the folder of a session: files, folders, and changes as git tells them.

Nothing outside the folder is opened, whatever links lead there, and nothing is changed.
"""

import base64
import os
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.agent_sessions import (
    FolderAnswer,
    FolderEntry,
    FolderQuestion,
    FolderQuestionKind,
)
from codekernel.domain.child_process import CHILD_PROCESS_OPTIONS, require_pipe
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.confined_path import ConfinedPath
from codekernel.domain.index import FoundFile
from codekernel.domain.untrusted_text import encode_path
from codekernel.files.walk import FileWalker

# A phone shows no larger ones; base64 makes a third more of it.
MAX_FILE_BYTES = 4 * 1024 * 1024

MAX_GIT_OUTPUT_BYTES = 2 * 1024 * 1024

GIT_TIMEOUT_SECONDS = 20.0

MAX_ENTRIES = 5_000

MAX_FOUND_FILES = 500

# The repository's own settings must not start programs, and nothing is written for it.
_GIT_OPTIONS = (
    "--no-pager", "--no-optional-locks", "--literal-pathspecs",
    "-c", "core.fsmonitor=false",
    "-c", f"core.hooksPath={os.devnull}",
    "-c", "core.quotePath=false",
    "-c", "color.ui=false",
)  # fmt: skip

_DIFF_OPTIONS = ("diff", "--no-ext-diff", "--no-textconv", "--no-color")

_GIT_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


def answer_question(folder: Path, question: FolderQuestion) -> FolderAnswer:
    """Return the answer to a question about a folder; what goes wrong is in the answer."""
    answers: dict[FolderQuestionKind, Callable[[WorkspaceRoot, FolderQuestion], FolderAnswer]] = {
        FolderQuestionKind.STATUS: _read_status,
        FolderQuestionKind.CHANGED_LINES: _read_changed_lines,
        FolderQuestionKind.DIFF: _read_diff,
        FolderQuestionKind.FILE: _read_file,
        FolderQuestionKind.FIND: _find_files,
        FolderQuestionKind.LIST: _list_folder,
    }
    try:
        return answers[question.kind](WorkspaceRoot.from_path(folder), question)
    except ToolError as error:
        return FolderAnswer(error=str(error))
    except OSError as error:
        return FolderAnswer(error=error.strerror or type(error).__name__)


def _read_status(root: WorkspaceRoot, _: FolderQuestion) -> FolderAnswer:
    return _run_git(root, "status", "--porcelain=v2", "--branch", "--untracked-files=all")


def _read_changed_lines(root: WorkspaceRoot, question: FolderQuestion) -> FolderAnswer:
    return _run_git(root, *_DIFF_OPTIONS, "--numstat", *_select_side(question))


def _read_diff(root: WorkspaceRoot, question: FolderQuestion) -> FolderAnswer:
    with root.reach(question.path, follow=False) as place:  # it may be gone
        path = "/".join(place.parts)
    return _run_git(root, *_DIFF_OPTIONS, *_select_side(question), "--", path)


def _select_side(question: FolderQuestion) -> tuple[str, ...]:
    return ("--cached",) if question.is_staged else ()


def _run_git(root: WorkspaceRoot, *arguments: str) -> FolderAnswer:
    git = shutil.which("git")
    # Windows searches the current folder first, which may contain any program.
    if git is None or Path(git).resolve().is_relative_to(root.folder):
        return FolderAnswer(error="git is not installed")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [git, *_GIT_OPTIONS, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=root.folder,
            env={**kept, **_GIT_ENVIRONMENT},
            **CHILD_PROCESS_OPTIONS,
        ) as process,
    ):
        output = _read_output(process)
        process.wait()
        errors.seek(0)
        stderr = errors.read(MAX_GIT_OUTPUT_BYTES).decode(errors="replace")
    if len(output) > MAX_GIT_OUTPUT_BYTES:
        return FolderAnswer(error="git has more to say than can be shown")
    error = (stderr.strip() or "git failed") if process.returncode else ""
    return FolderAnswer(error, output.decode(errors="replace"), stderr, process.returncode)


def _read_output(process: "subprocess.Popen[bytes]") -> bytes:
    """Return what git writes, no more than can be shown; kill it if it takes too long."""
    timer = threading.Timer(GIT_TIMEOUT_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    try:
        output = require_pipe(process.stdout).read(MAX_GIT_OUTPUT_BYTES + 1)
        if len(output) > MAX_GIT_OUTPUT_BYTES:
            process.kill()
    finally:
        timer.cancel()
    return output


def _read_file(root: WorkspaceRoot, question: FolderQuestion) -> FolderAnswer:
    with root.reach(question.path) as place:
        status = place.require_status()
        if not stat.S_ISREG(status.st_mode):
            return FolderAnswer(error=f"{question.path} is no file.")
        if status.st_size > MAX_FILE_BYTES:
            return FolderAnswer(error=f"{question.path} is too large to be shown.")
        content = _read_bytes(place)
    encoded = base64.b64encode(content).decode()
    return FolderAnswer(content=encoded, size=len(content), modified_at=_get_time(status))


def _read_bytes(place: ConfinedPath) -> bytes:
    with os.fdopen(place.open_file(), "rb") as file:
        return file.read(MAX_FILE_BYTES)


def _list_folder(root: WorkspaceRoot, question: FolderQuestion) -> FolderAnswer:
    with root.reach(question.path or ".") as place:
        if not place.is_folder:
            return FolderAnswer(error=f"There is no folder {question.path}.")
        with place.open_folder() as folder:
            entries: list[FolderEntry] = []
            for entry in folder.entries()[:MAX_ENTRIES]:
                path = "/".join((*place.parts, entry.name))
                with suppress(FileNotFoundError):  # it is gone since
                    entries.append(_make_entry(path, folder.status(entry.name)))
    entries.sort(key=lambda each: (each.type != "directory", each.name))
    return FolderAnswer(entries=tuple(entries))


def _make_entry(path: str, status: os.stat_result) -> FolderEntry:
    kinds = {stat.S_IFDIR: "directory", stat.S_IFREG: "file"}
    kind = kinds.get(stat.S_IFMT(status.st_mode), "other")
    encoded = encode_path(path)
    name = encoded.rpartition("/")[2]
    return FolderEntry(name, encoded, kind, status.st_size, _get_time(status))


def _get_time(status: os.stat_result) -> int:
    return status.st_mtime_ns // 1_000_000


def _find_files(root: WorkspaceRoot, question: FolderQuestion) -> FolderAnswer:
    """Find files that are not ignored by parts of their path."""
    words = question.query.lower().split()
    limit = min(question.limit, MAX_FOUND_FILES)
    entries: list[FolderEntry] = []
    for found in _walk_files(root):
        if all(word in found.path.lower() for word in words):
            path = encode_path(found.path)
            name, time = path.rpartition("/")[2], found.mtime_ns // 1_000_000
            entries.append(FolderEntry(name, path, "file", found.size, time))
            if len(entries) == limit:
                break
    return FolderAnswer(entries=tuple(entries))


def _walk_files(root: WorkspaceRoot) -> Iterator[FoundFile]:
    for found in FileWalker(root.folder).iterate_files(CancelToken()):
        if isinstance(found, FoundFile):
            yield found
