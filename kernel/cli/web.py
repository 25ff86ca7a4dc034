"""``codekernel web``: the pages in a browser, with a kernel behind them in this process.

The address is printed before the kernel is loaded; a browser that is quick waits on the port.
"""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from kernel.cli.search_streams import say
from kernel.cli.serve import ONE_THREAD, SWITCH_INTERVAL_SECONDS
from kernel.cli.web_beginning import Beginning, chosen_folder
from kernel.cli.web_browser import open_browser
from kernel.doors.web import threads
from kernel.doors.web.door import WebDoor
from kernel.doors.web.pages import Pages, pages_folder
from kernel.doors.web.server import WebServer
from kernel.errors import KernelError
from kernel.storage.user_data import UserData, open_user_data
from kernel.transport.memory import MemoryChannel

TROUBLE, FORCED = 2, 130
_STOPPING = b"codekernel: stopping; Ctrl-C again to end at once\n"


def web(asked: argparse.Namespace) -> int:
    """Serve the pages until Ctrl-C, then end the process."""
    environ = dict(os.environ)
    channel = MemoryChannel()
    try:
        folder = chosen_folder(asked.folder)
        user_data = open_user_data(asked.user_data, environ)
        door = WebDoor(channel, user_data, environ, str(folder or ""))
        beginning = Beginning(door, user_data, environ, folder)
        server = WebServer(Pages(pages_folder()), door.admit, beginning.page, asked.port)
    except KernelError as error:
        say(str(error))
        return TROUBLE
    except OSError as error:
        say(f"port {asked.port} cannot be used: {error.strerror}. Choose another one, or none.")
        return TROUBLE
    print(f"Open {server.access.address}", flush=True)
    if not asked.no_browser:
        open_browser(server.access, user_data.browser_files, environ)
    return _leave(_run(server, door, beginning, user_data, channel))


def _run(
    server: WebServer,
    door: WebDoor,
    beginning: Beginning,
    user_data: UserData,
    channel: MemoryChannel,
) -> int:
    from kernel import logs  # noqa: PLC0415 - the address is printed before anything is loaded

    logs.to_stderr()
    from kernel.app import Kernel  # noqa: PLC0415
    from kernel.domain.garbage import collect_seldom  # noqa: PLC0415

    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    collect_seldom()
    for name, value in ONE_THREAD.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    logs.to_file(user_data.logs)
    kernel = Kernel(user_data, os.environ, channel)
    _hear_signals(kernel.stop)
    door.start(kernel.crash)
    server.start(kernel.crash)
    threads.start("beginning", beginning.prepare, kernel.crash)
    say("the address above is good once; Ctrl-C stops codekernel")
    code = kernel.run()
    server.stop()
    say("stopped" if code == 0 else f"stopped, but not in order; {user_data.logs} says why")
    return code


def _hear_signals(stop: Callable[[], None]) -> None:
    """The first Ctrl-C asks, the second forces."""

    def force(*_: object) -> NoReturn:
        os._exit(FORCED)

    def ask(*_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, force)
        stop()
        # Not through sys.stderr: what was interrupted may be in the middle of a line there.
        os.write(2, _STOPPING)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)


def _leave(code: int) -> int:
    """End now: destructors of native libraries must not run under threads that still use them."""
    logging.shutdown()
    os._exit(code)
