"""Carry the lines of a front end to the kernel that all clients share.

Imported late: ``serve`` has written ``ready`` by then.
"""

import os

from codekernel.cli.main import POCKETRAG_CLIENT
from codekernel.cli.process import handle_stop_signals
from codekernel.client.launcher import wants_standalone
from codekernel.client.relay import KernelLink, make_attach_line, relay_stdio
from codekernel.client.relay_state import RelayState
from codekernel.errors import KernelError
from codekernel.storage.user_data_folder import open_folder
from codekernel.transport.descriptors import StdioPipe


def run_relay(wire: StdioPipe, user_data: str | None, *, for_pocketrag: bool) -> None:
    """Carry lines until the end; return only if no shared kernel can be had, or is not wanted."""
    try:
        root = open_folder(user_data, os.environ)
        if wants_standalone(root):
            return
        name = POCKETRAG_CLIENT if for_pocketrag else "serve"
        attach_line = make_attach_line(name, mirror=for_pocketrag)
        link = KernelLink(root, RelayState(), attach_line)
    except KernelError as error:
        os.write(2, f"codekernel: {error}; this front end has a kernel of its own\n".encode())
        return
    handle_stop_signals(link.end_input)
    os._exit(relay_stdio(wire, link))
