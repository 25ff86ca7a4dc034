"""A kernel that several front ends share; it is ended with the test."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil
import pytest
from codekernel.client.connection import KernelConnection
from codekernel.errors import KernelError

from support.conversation_client import ConversationClient
from support.kernel_process import KernelProcess, code_of

SESSION = 7
ENVIRON = {"CODEKERNEL_VAULT_KEY": "a" * 64, "CODEKERNEL_STANDALONE": ""}


def set_variables(monkeypatch: pytest.MonkeyPatch, values: Mapping[str, str] = ENVIRON) -> None:
    """Set variables of the environment for a test, by default those of a shared kernel."""
    for name, value in values.items():
        monkeypatch.setenv(name, value)


class SharedKernel:
    """Front ends attach with ``attach``; the first one starts the kernel."""

    def __init__(self, user_data: Path) -> None:
        self.user_data = user_data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(KernelError):
            self.kill()

    def attach(self) -> KernelProcess:
        """A front end's ``codekernel serve``."""
        return KernelProcess(self.user_data, environ=ENVIRON)

    def connect(self, client: str = "test", *, may_start: bool = False) -> KernelConnection:
        """A command that is attached."""
        return KernelConnection.open(self.user_data, client, may_start=may_start)

    def status(self) -> Any:
        """Ask a kernel of any version."""
        with KernelConnection.open(
            self.user_data, "test", may_start=False, mode="control"
        ) as connection:
            return connection.request("getKernelStatus")

    def kill(self) -> None:
        """kill -9."""
        os.kill(self.status()["pid"], signal.SIGKILL)


def is_running(pid: int) -> bool:
    try:
        # A kernel that a test started itself is a zombie until it is waited for.
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def block_endpoint(user_data: Path, place: Path) -> dict[str, str]:
    """Put something wherever an endpoint could be; return the environment in which that is so."""
    blocked = (user_data / "run", place / "codekernel", place / f"codekernel-{os.geteuid()}")
    for path in blocked:
        path.write_text("in the way", encoding="utf-8")
    return {"XDG_RUNTIME_DIR": str(place), "TMPDIR": str(place)}


def open_and_index(front_end: KernelProcess, repo: Path) -> None:
    """Open a repository and wait for its index."""
    front_end.open(repo, SESSION)
    asker = ConversationClient(front_end, front_end.user_data)
    front_end.wait_for(lambda _: asker.is_indexed(repo), "the index")


def search(front_end: KernelProcess) -> str:
    """The file that a search finds first."""
    reply = front_end.request("search", session=SESSION, query="close the session")
    assert code_of(reply) == "SUCCESS", reply
    return str(reply["data"]["results"][0]["filePath"])


def run_command(
    user_data: Path, *words: str, environ: Mapping[str, str] = ENVIRON
) -> "subprocess.CompletedProcess[str]":
    """A command that shares the kernel."""
    return subprocess.run(
        [sys.executable, "-m", "codekernel", *words],
        cwd=user_data.parent,
        env={**os.environ, **environ, "CODEKERNEL_USER_DATA": str(user_data)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
