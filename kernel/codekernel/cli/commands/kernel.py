"""``codekernel kernel``: the kernel that all clients of a userData folder share.

Clients start it; it ends when none has been attached for a while.
"""

import gc
import os
from typing import NoReturn

from codekernel.client.launcher import ALREADY_RUNNING_EXIT_CODE
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.user_data import open_user_data
from codekernel.transport.local_endpoint import LocalListener, choose_endpoint_path


def run_shared_kernel(argument: str) -> NoReturn:
    """Serve every client; end the process at once if another kernel does so already."""
    user_data = open_user_data(argument, os.environ)
    path = choose_endpoint_path(user_data.root)
    lock = ProcessLock(path.with_suffix(".lock"))
    if not lock.try_acquire():
        os._exit(ALREADY_RUNNING_EXIT_CODE)
    # Clients can connect from now on, and wait for the rest.
    listener = LocalListener(path, lock.release)
    gc.disable()  # until make_kernel
    from codekernel.cli.kernel_startup import make_kernel, run_kernel  # a quarter of a second

    run_kernel(make_kernel(user_data, listener=listener))
