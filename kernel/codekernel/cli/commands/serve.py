"""``codekernel serve``: claim stdin and stdout, write ``ready``, and only then load the kernel.

Lines that arrive meanwhile wait in the pipe.
"""

import os

from codekernel.protocol.handshake import READY_LINE
from codekernel.transport.descriptors import StdioPipe, claim_stdio

# A thread that computes in Python keeps the others waiting for this long at a time, and a reply
# crosses three threads. Beside such a thread getRepos took p99 37 ms with the default of 5 ms,
# 5.7 ms with 0.5 and 2.9 ms with 0.2; still shorter intervals cost throughput and gained little.
SWITCH_INTERVAL_SECONDS = 0.0002

# numpy multiplies a query with at most 100,000 vectors: a few milliseconds on one core. Its own
# threads wait for each other in a loop, and beside busy cores took 25 ms for 14,000 vectors.
SINGLE_THREAD_ENV = {"OPENBLAS_NUM_THREADS": "1"}


def run_serve(user_data: str | None, *, for_pocketrag: bool = False) -> int:
    """Serve one front end until it says stopAll or closes the pipe; ends the process."""
    wire = claim_stdio()
    try:
        wire.write(READY_LINE + b"\n")
    except OSError:  # whoever started us is gone already
        return 1
    return _exit_now(_run_kernel(wire, user_data, for_pocketrag=for_pocketrag))


def _run_kernel(wire: StdioPipe, user_data_argument: str | None, *, for_pocketrag: bool) -> int:
    import signal  # noqa: PLC0415 - nothing is imported before ready
    import sys  # noqa: PLC0415

    from codekernel.runtime import logging_setup  # noqa: PLC0415

    logging_setup.log_to_stderr()
    from codekernel.app import Kernel  # noqa: PLC0415
    from codekernel.domain.garbage_collection import raise_gc_thresholds  # noqa: PLC0415
    from codekernel.storage.user_data import open_user_data  # noqa: PLC0415
    from codekernel.transport.channels import StdioChannel  # noqa: PLC0415

    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    raise_gc_thresholds()
    for name, value in SINGLE_THREAD_ENV.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    user_data = open_user_data(user_data_argument, os.environ)
    logging_setup.log_to_file(user_data.logs_folder)
    channel = StdioChannel(wire)
    kernel = Kernel(user_data, os.environ, channel, for_pocketrag=for_pocketrag)
    channel.start(on_broken=kernel.crash)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: kernel.stop())
    return kernel.run()


def _exit_now(code: int) -> int:
    """End now: destructors of native libraries must not run under threads that still use them."""
    import logging  # noqa: PLC0415

    logging.shutdown()
    os._exit(code)
