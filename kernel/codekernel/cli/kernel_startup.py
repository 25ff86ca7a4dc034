"""Make a kernel in this process, and serve a front end or one command with it.

Imported late: ``serve`` has written ``ready`` and ``web`` has printed its address by then.
"""

import os
import queue
import socket
import threading
from pathlib import Path
from typing import NoReturn

from codekernel.app import Kernel
from codekernel.cli.main import NUMPY_THREADS_ENV_VARIABLE, POCKETRAG_CLIENT
from codekernel.cli.process import (
    CLOSE_TIMEOUT_SECONDS,
    exit_now,
    handle_stop_signals,
    shorten_switch_interval,
)
from codekernel.domain.memory import limit_kept_memory, raise_gc_thresholds
from codekernel.runtime import logging_setup
from codekernel.runtime.clients import ClientInfo
from codekernel.runtime.endpoint import ClientListener
from codekernel.runtime.log_file import log_to_file
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.transport.descriptors import StdioPipe
from codekernel.transport.lines import Channel, StreamChannel
from codekernel.transport.local_endpoint import LocalPipe
from codekernel.transport.unix_socket import SocketPipe


class InProcessListener:
    """Accepts what ``connect`` connects."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[SocketPipe | None] = queue.SimpleQueue()

    def connect(self) -> SocketPipe:
        """Return the client's end of a new connection."""
        ours, theirs = socket.socketpair()
        self._waiting.put(SocketPipe(theirs))
        return SocketPipe(ours)

    def accept(self) -> SocketPipe | None:
        """Wait for the next connection; None once closed."""
        return self._waiting.get()

    def close(self) -> None:
        """Accept no more."""
        self._waiting.put(None)


def make_kernel(
    user_data: UserData,
    channel: Channel | None = None,
    *,
    listener: ClientListener | None = None,
    owner: ClientInfo | None = None,
) -> Kernel:
    """Return a kernel that logs to userData and answers beside busy threads."""
    shorten_switch_interval()
    raise_gc_thresholds()
    limit_kept_memory()
    os.environ.setdefault(NUMPY_THREADS_ENV_VARIABLE, "1")
    log_to_file(user_data.logs_folder)
    return Kernel(user_data, os.environ, channel, listener=listener, owner=owner)


def serve_kernel(wire: StdioPipe, user_data: str | None, *, for_pocketrag: bool) -> NoReturn:
    """Answer the lines of a front end until it stops the kernel; end the process."""
    logging_setup.log_to_stderr()
    channel = StreamChannel(wire)
    opened = open_user_data(user_data, os.environ)
    owner = ClientInfo(POCKETRAG_CLIENT, has_mirror=True) if for_pocketrag else None
    kernel = make_kernel(opened, channel, owner=owner)
    channel.start(on_broken=kernel.crash)
    run_kernel(kernel)


def run_kernel(kernel: Kernel) -> NoReturn:
    """Run a kernel until it is stopped; end the process."""
    handle_stop_signals(kernel.stop)
    exit_now(kernel.run())


class InProcessKernel:
    """A kernel on a thread of this process, to which a command connects as to a shared one."""

    def __init__(self, user_data: str) -> None:
        self._listener = InProcessListener()
        self._kernel = make_kernel(UserData(Path(user_data)), listener=self._listener)
        self._thread = threading.Thread(target=self._kernel.run, name="kernel", daemon=True)
        self._thread.start()

    def connect(self) -> LocalPipe:
        """Connect a client."""
        return self._listener.connect()

    def close(self) -> None:
        """End in order, as far as there is time: what is on disk is consistent at every moment."""
        self._kernel.stop()
        self._thread.join(CLOSE_TIMEOUT_SECONDS)
