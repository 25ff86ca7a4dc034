"""Finds the kernel that a command is a client of: the shared one, or one of this process.

Imports little: the relay of each agent needs it.
"""

import os
import threading

from codekernel.cli.main import STANDALONE_ENV_VARIABLE
from codekernel.client.launcher import connect_to_kernel, wants_standalone
from codekernel.errors import EndpointUnavailable, KernelUnavailable
from codekernel.transport.local_endpoint import LocalPipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from codekernel.cli.kernel_startup import InProcessKernel


class KernelFinder:
    """Connects to the shared kernel, or to one of this process.

    The latter is made for ``--standalone``, $CODEKERNEL_STANDALONE and ``kernel.standalone``, and
    where no shared kernel can be had.
    """

    def __init__(self, user_data: "str | Path", *, standalone: bool) -> None:
        self._user_data = user_data
        self._is_standalone = (
            standalone
            or bool(os.environ.get(STANDALONE_ENV_VARIABLE))
            or wants_standalone(user_data)
        )
        self._has_shared = False
        self._own: InProcessKernel | None = None
        self._lock = threading.Lock()

    def connect(self, user_data: "str | Path") -> LocalPipe:
        """Return a new connection, on any thread. Raises KernelError."""
        with self._lock:
            return self._connect(user_data)

    def _connect(self, user_data: "str | Path") -> LocalPipe:
        if not self._is_standalone:
            try:
                pipe = connect_to_kernel(user_data)
            except (EndpointUnavailable, KernelUnavailable) as error:
                if self._has_shared:  # which has answered already
                    raise
                from codekernel.cli.output.terminal import print_notice  # a relay does without

                print_notice(f"{error}; this command has an index of its own")
                self._is_standalone = True
            else:
                self._has_shared = True
                return pipe
        if self._own is None:
            from codekernel.cli.kernel_startup import InProcessKernel  # a quarter of a second

            self._own = InProcessKernel(str(self._user_data))
        return self._own.connect()

    def close(self) -> None:
        """End the kernel of this process, if there is one."""
        if self._own:
            self._own.close()
