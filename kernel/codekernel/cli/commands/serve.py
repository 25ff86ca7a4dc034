"""``codekernel serve``: write ``ready``, then carry lines to the kernel that all clients share.

With ``standalone`` the kernel runs in this process, for this front end alone. ``codekernel kernel``
is the shared kernel itself. Lines that arrive meanwhile wait in the pipe.
"""

import gc

from codekernel.protocol import READY_LINE
from codekernel.transport.descriptors import claim_stdio


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
        from codekernel.cli.relay_startup import run_relay  # nothing is imported before ready

        run_relay(wire, user_data, for_pocketrag=for_pocketrag)
    gc.disable()  # until make_kernel
    from codekernel.cli.kernel_startup import serve_kernel

    return serve_kernel(wire, user_data, for_pocketrag=for_pocketrag)
