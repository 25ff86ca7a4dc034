"""``codekernel serve``: write ``ready``, then carry lines to the kernel that all clients share.

With ``standalone`` the kernel runs in this process, for this front end alone. ``codekernel kernel``
is the shared kernel itself. Lines that arrive meanwhile wait in the pipe.
"""

import gc
import os

from codekernel.protocol import READY_LINE
from codekernel.transport.descriptors import StdioPipe, claim_stdio


def run_serve(
    user_data: str | None, *, for_pocketrag: bool = False, standalone: bool = False
) -> int:
    """Serve one front end until it sends stopAll or closes the pipe; end the process."""
    wire = claim_stdio()
    try:
        wire.write(READY_LINE + b"\n")
    except OSError:  # the program that started us is gone already
        return 1
    if not standalone:
        _run_relay(wire, user_data, for_pocketrag=for_pocketrag)
    gc.disable()  # until make_kernel
    from codekernel.cli.kernel_startup import serve_kernel  # noqa: PLC0415 - nothing is imported before ready

    return serve_kernel(wire, user_data, for_pocketrag=for_pocketrag)


def _run_relay(wire: StdioPipe, user_data: str | None, *, for_pocketrag: bool) -> None:
    """Carry lines until the end; return only if no shared kernel can be had, or is not wanted."""
    from codekernel.cli.main import POCKETRAG_CLIENT  # noqa: PLC0415 - after ready
    from codekernel.cli.process import handle_stop_signals  # noqa: PLC0415
    from codekernel.client.launcher import wants_standalone  # noqa: PLC0415
    from codekernel.client.relay import (  # noqa: PLC0415
        KernelLink,
        make_attach_line,
        relay_stdio,
    )
    from codekernel.client.relay_state import RelayState  # noqa: PLC0415
    from codekernel.errors import KernelError  # noqa: PLC0415
    from codekernel.storage.user_data import open_user_data  # noqa: PLC0415

    try:
        root = open_user_data(user_data, os.environ).root
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
