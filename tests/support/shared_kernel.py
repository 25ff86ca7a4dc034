"""A kernel that several front ends share; it is ended with the test."""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil
from codekernel.client.connection import KernelConnection
from codekernel.errors import KernelError

from support.kernel_process import KernelProcess

ENVIRON = {"CODEKERNEL_VAULT_KEY": "a" * 64, "CODEKERNEL_STANDALONE": ""}


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


def wait_until(condition: Callable[[], object]) -> None:
    """Ask again until it is so."""
    for _ in range(400):
        if condition():
            return
        threading.Event().wait(0.05)
    raise AssertionError("it never was so")


def block_endpoint(user_data: Path, place: Path) -> dict[str, str]:
    """Put something wherever an endpoint could be; return the environment in which that is so."""
    blocked = (user_data / "run", place / "codekernel", place / f"codekernel-{os.geteuid()}")
    for path in blocked:
        path.write_text("in the way", encoding="utf-8")
    return {"XDG_RUNTIME_DIR": str(place), "TMPDIR": str(place)}
