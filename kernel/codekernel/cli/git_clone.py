"""Clones of git URLs in userData, made only when a person names the URL in a command.

Shallow, without submodules, hooks, large-file downloads and questions, and bounded in size and
time. The kernel deletes a clone with its index: ``codekernel repos clean`` and ``repos remove``.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from codekernel.cli.output.terminal import print_notice
from codekernel.domain.child_process import CHILD_PROCESS_OPTIONS
from codekernel.errors import InvalidPath, WrongParam
from codekernel.storage.safe_files import make_private_parents, measure_folder
from codekernel.storage.user_data import UserData

MAX_CLONE_BYTES = 2 * 1024**3

CLONE_TIMEOUT_SECONDS = 900.0

_POLL_INTERVAL_SECONDS = 0.2

# A clone is walked for its size, which takes time itself.
_MEASURE_INTERVAL_SECONDS = 2.0

_DAY_SECONDS = 24 * 60 * 60

_REF = re.compile(r"[\w][\w./-]{0,200}")

_SAFE_NAME = re.compile(r"[^\w.-]+")

# Nothing of a foreign repository is executed, and nobody is asked for a password.
_GIT_OPTIONS = (
    "-c", "core.hooksPath=", "-c", "protocol.ext.allow=never", "-c", "core.fsmonitor=false",
    "-c", "submodule.recurse=false", "-c", "advice.detachedHead=false",
)  # fmt: skip

_GIT_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "GIT_ASKPASS": ""}


def get_clone(url: str, user_data: UserData, *, refresh: bool) -> Path:
    """Return the folder of a clone, which is made, or with ``refresh`` brought up to date.

    ``#ref`` behind the URL is a branch or a tag. Raises WrongParam, InvalidPath.
    """
    address, _, ref = url.partition("#")
    _check_address(address, ref)
    place = address.rstrip("/").removesuffix(".git")
    name = _SAFE_NAME.sub("-", re.split(r"[/:\\]", place)[-1]).strip(".-") or "repository"
    digest = blake2b(f"{place}#{ref}".encode(), digest_size=6).hexdigest()
    folder = user_data.clones_folder / f"{name}-{digest}" / name
    if not (folder / ".git").exists():
        _clone(address, ref, folder)
    elif refresh:
        _update(ref, folder)
    else:
        days = (time.time() - folder.stat().st_mtime) / _DAY_SECONDS
        if days > 1:
            print_notice(f"cloned {days:.0f} days ago; --refresh brings it up to date")
    return folder


def _check_address(address: str, ref: str) -> None:
    if ref and not _REF.fullmatch(ref):
        raise WrongParam(f"{ref!r} is no name of a branch or a tag")
    if "://" in address and urlsplit(address).password:
        raise WrongParam(
            "the URL has a password, which git would keep on the disk:"
            " leave it out and let git's credential helper answer"
        )


def _clone(address: str, ref: str, folder: Path) -> None:
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    make_private_parents(folder.parent)
    branch = ["--branch", ref] if ref else []
    print_notice(f"cloning {address}, its last commit alone")
    options = ["--depth=1", "--no-tags", "--single-branch", *branch]
    _run_git(["clone", *options, "--", address, str(partial)], partial)
    partial.rename(folder)


def _update(ref: str, folder: Path) -> None:
    at_folder = ["-C", str(folder)]
    _run_git([*at_folder, "fetch", "--depth=1", "--no-tags", "origin", ref or "HEAD"], folder)
    _run_git([*at_folder, "reset", "--hard", "--quiet", "FETCH_HEAD"], folder)
    os.utime(folder)


def _run_git(arguments: list[str], folder: Path) -> None:
    """Run git and show its progress on a terminal. Raises InvalidPath; what it made is gone."""
    is_shown = sys.stderr is not None and sys.stderr.isatty()
    is_new = not folder.exists()
    try:
        process = subprocess.Popen(
            [shutil.which("git") or "git", *_GIT_OPTIONS, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if is_shown else subprocess.PIPE,
            env=_build_environment(os.environ),
            **CHILD_PROCESS_OPTIONS,
        )
    except OSError as error:
        raise InvalidPath(f"git cannot be started: {error.strerror}; is it installed?") from error
    try:
        trouble = _watch(process, folder)
    finally:
        process.kill()  # Ctrl-C does not reach it
    if trouble and is_new:
        shutil.rmtree(folder, ignore_errors=True)
    if trouble:
        raise InvalidPath(f"git {next(each for each in arguments if each.isalpha())}: {trouble}")


def _watch(process: subprocess.Popen[bytes], folder: Path) -> str:
    """Wait for git; return why it has failed."""
    began = measured = time.monotonic()
    trouble, complaints = "", b""
    while True:
        try:
            complaints = process.communicate(timeout=_POLL_INTERVAL_SECONDS)[1] or b""
            break
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        if now - measured > _MEASURE_INTERVAL_SECONDS:
            measured = now
            if measure_folder(folder) > MAX_CLONE_BYTES:
                trouble = f"it is larger than {MAX_CLONE_BYTES / 1024**3:.0f} GB"
        if now - began > CLONE_TIMEOUT_SECONDS:
            trouble = f"it took longer than {CLONE_TIMEOUT_SECONDS / 60:.0f} minutes"
        if trouble:
            process.kill()
    if trouble or not process.returncode:
        return trouble
    lines = complaints.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with {process.returncode}"


def _build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    ssh = {"GIT_SSH_COMMAND": environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")}
    return inherited | ssh | _GIT_ENVIRONMENT
