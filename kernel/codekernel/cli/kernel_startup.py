"""Make a kernel in this process, and serve a front end with it.

Imported late: ``serve`` has written ``ready`` and ``web`` has printed its address by then.
"""

import os
from typing import NoReturn

from codekernel.app import Kernel
from codekernel.cli.main import NUMPY_THREADS_ENV_VARIABLE, POCKETRAG_CLIENT
from codekernel.cli.process import exit_now, handle_stop_signals, shorten_switch_interval
from codekernel.domain.memory import raise_gc_thresholds
from codekernel.runtime import logging_setup
from codekernel.runtime.clients import ClientInfo
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.transport.channels import StreamChannel
from codekernel.transport.descriptors import StdioPipe
from codekernel.transport.lines import Channel
from codekernel.transport.local_endpoint import LocalListener


def make_kernel(
    user_data: UserData,
    channel: Channel | None = None,
    *,
    listener: LocalListener | None = None,
    owner: ClientInfo | None = None,
) -> Kernel:
    """Return a kernel that logs to userData and answers beside busy threads."""
    shorten_switch_interval()
    raise_gc_thresholds()
    os.environ.setdefault(NUMPY_THREADS_ENV_VARIABLE, "1")
    logging_setup.log_to_file(user_data.logs_folder)
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
