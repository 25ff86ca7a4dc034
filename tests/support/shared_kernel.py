"""A kernel that several front ends share; it is ended with the test."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

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
        with self.connect() as connection:
            return connection.request("getKernelStatus")

    def kill(self) -> None:
        """kill -9."""
        os.kill(self.status()["pid"], signal.SIGKILL)
