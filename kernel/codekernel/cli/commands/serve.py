"""``codekernel serve``: claim stdin and stdout, write ``ready``, and only then load the kernel.

Lines that arrive meanwhile wait in the pipe.
"""

from codekernel.protocol.handshake import READY_LINE
from codekernel.transport.descriptors import StdioPipe, claim_stdio


def run_serve(user_data: str | None, *, for_pocketrag: bool = False) -> int:
    """Serve one front end until it sends stopAll or closes the pipe; end the process."""
    wire = claim_stdio()
    try:
        wire.write(READY_LINE + b"\n")
    except OSError:  # the program that started us is gone already
        return 1
    return _run_kernel(wire, user_data, for_pocketrag=for_pocketrag)


def _run_kernel(wire: StdioPipe, user_data_argument: str | None, *, for_pocketrag: bool) -> int:
    import os  # noqa: PLC0415 - nothing is imported before ready
    import signal  # noqa: PLC0415

    from codekernel.runtime import logging_setup  # noqa: PLC0415

    logging_setup.log_to_stderr()
    from codekernel.app import Kernel  # noqa: PLC0415
    from codekernel.cli.main import NUMPY_THREADS_ENV_VARIABLE  # noqa: PLC0415
    from codekernel.cli.process import exit_now, shorten_switch_interval  # noqa: PLC0415
    from codekernel.domain.garbage_collection import raise_gc_thresholds  # noqa: PLC0415
    from codekernel.storage.user_data import open_user_data  # noqa: PLC0415
    from codekernel.transport.channels import StdioChannel  # noqa: PLC0415

    shorten_switch_interval()
    raise_gc_thresholds()
    os.environ.setdefault(NUMPY_THREADS_ENV_VARIABLE, "1")
    user_data = open_user_data(user_data_argument, os.environ)
    logging_setup.log_to_file(user_data.logs_folder)
    channel = StdioChannel(wire)
    kernel = Kernel(user_data, os.environ, channel, for_pocketrag=for_pocketrag)
    channel.start(on_broken=kernel.crash)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: kernel.stop())
    exit_now(kernel.run())
