"""``codekernel serve``: claim the descriptors, say ``ready``, and only then load the house.

Lines that arrive meanwhile wait in the pipe.
"""

import os

from kernel.protocol.ready import READY_LINE
from kernel.transport.descriptors import Wire, claim

# A thread that computes in Python keeps the others waiting for this long at a time, and a reply
# crosses three threads. Beside such a thread getRepos took p99 37 ms with the default of 5 ms,
# 5.7 ms with 0.5 and 2.9 ms with 0.2; still shorter intervals cost throughput and gained little.
SWITCH_INTERVAL_SECONDS = 0.0002

# numpy multiplies a query with at most 100,000 vectors: a few milliseconds on one core. Its own
# threads wait for each other in a loop, and beside busy cores took 25 ms for 14,000 vectors.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def serve(user_data: str | None, *, for_pocketrag: bool = False) -> int:
    """Serve one front end until it says stopAll or closes the pipe; ends the process."""
    wire = claim()
    try:
        wire.write(READY_LINE + b"\n")
    except OSError:  # whoever started us is gone already
        return 1
    return _leave(_run(wire, user_data, for_pocketrag=for_pocketrag))


def _run(wire: Wire, user_data_argument: str | None, *, for_pocketrag: bool) -> int:
    import signal  # noqa: PLC0415 - nothing is imported before ready
    import sys  # noqa: PLC0415

    from kernel import logs  # noqa: PLC0415

    logs.to_stderr()
    from kernel.app import Kernel  # noqa: PLC0415
    from kernel.domain.garbage import collect_seldom  # noqa: PLC0415
    from kernel.storage.user_data import open_user_data  # noqa: PLC0415
    from kernel.transport.stdio import StdioChannel  # noqa: PLC0415

    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    collect_seldom()
    for name, value in ONE_THREAD.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    user_data = open_user_data(user_data_argument, os.environ)
    logs.to_file(user_data.logs)
    channel = StdioChannel(wire)
    kernel = Kernel(user_data, os.environ, channel, for_pocketrag=for_pocketrag)
    channel.start(on_broken=kernel.crash)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: kernel.stop())
    return kernel.run()


def _leave(code: int) -> int:
    """End now: destructors of native libraries must not run under threads that still use them."""
    import logging  # noqa: PLC0415

    logging.shutdown()
    os._exit(code)
