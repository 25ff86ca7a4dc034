"""The exit codes, the signals and the end of a command's process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType

from codekernel.cli.main import EXIT_INTERRUPTED
from codekernel.errors import KernelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# A thread that computes in Python keeps the others waiting for this long at a time, and a reply
# crosses three threads. Beside such a thread getRepos took p99 37 ms with the default of 5 ms,
# 5.7 ms with 0.5 and 2.9 ms with 0.2; still shorter intervals cost throughput and gained little.
SWITCH_INTERVAL_SECONDS = 0.0002

# Work in progress stops at its next step; what is on disk is consistent at every moment.
CLOSE_TIMEOUT_SECONDS = 1.0


class ExitCode(IntEnum):
    """The exit codes of all commands, as grep and shells have them."""

    OK = 0
    FAILED = 1  # nothing found, no answer, a finding of doctor
    ERROR = 2
    INTERRUPTED = EXIT_INTERRUPTED


def shorten_switch_interval() -> None:
    """Let threads that wait for the interpreter get it sooner."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)


def exit_now(code: int, close: Callable[[], None] | None = None) -> NoReturn:
    """End the process without destructors: native libraries may still run on other threads.

    ``close`` runs first, for at most CLOSE_TIMEOUT_SECONDS.
    """
    if close:
        closing = threading.Thread(target=close, name="close", daemon=True)
        closing.start()
        closing.join(CLOSE_TIMEOUT_SECONDS)
    if logging := sys.modules.get("logging"):  # a relay has not imported it
        logging.shutdown()
    os._exit(code)


def run_and_exit(command: Callable[[], int]) -> NoReturn:
    """Run a command and end the process with its exit code; print the error that it raised."""
    try:
        code = command()
    except KernelError as error:
        from codekernel.cli.output.terminal import print_notice  # a relay does without

        print_notice(str(error))
        code = ExitCode.ERROR
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    exit_now(code)


def handle_stop_signals(stop: Callable[[], object]) -> None:
    """Call ``stop`` on a thread of its own at Ctrl-C and at SIGTERM.

    Not in a handler of Python: that runs when the main thread next does, and a signal which comes
    just before it waits for a lock is not seen meanwhile (one stop in thirty on a busy machine).
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    numbers = (signal.SIGINT, signal.SIGTERM)

    def read_signals() -> None:
        while caught := os.read(reading, 1):
            if caught[0] in numbers:
                stop()

    for number in numbers:
        signal.signal(number, lambda *_: None)  # so that they are written to the pipe
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=read_signals, name="signals", daemon=True).start()


@contextmanager
def catch_signals(
    *numbers: signal.Signals, wake: Callable[[], None] | None = None
) -> Iterator[threading.Event]:
    """Set the event at the first signal; the second one raises KeyboardInterrupt.

    The handler does no more, because it may run while a lock is held.
    """
    caught = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        if caught.is_set():
            raise KeyboardInterrupt
        caught.set()
        if wake:
            wake()

    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def raise_on_interrupt() -> Iterator[None]:
    """Have Ctrl-C raise KeyboardInterrupt while a person is asked something."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
