"""The entry point: install the Ctrl-C handler and run one command.

Imports almost nothing, because ``serve`` must be ready at once.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # signal itself imports enum
import os
import sys
from types import FrameType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

EXIT_INTERRUPTED = 130  # as shells count Ctrl-C

_CLEAR_LINE = b"\r\x1b[K"

# The existing front end spawns its kernel with no arguments and no other variable than this.
FRONT_END_ENV_VARIABLE = "POCKETRAG_USERDATA_PATH"

# What that front end is called as a client of the kernel.
POCKETRAG_CLIENT = "PocketRAG"

# A program that sets this one knows codekernel, and is not that front end.
USER_DATA_ENV_VARIABLE = "CODEKERNEL_USER_DATA"

# Any value: each front end has a kernel of its own.
STANDALONE_ENV_VARIABLE = "CODEKERNEL_STANDALONE"

# numpy multiplies a query with at most 100,000 vectors: a few milliseconds on one core. Its own
# threads wait for each other in a loop, and beside busy cores took 25 ms for 14,000 vectors.
# Read when numpy is imported.
NUMPY_THREADS_ENV_VARIABLE = "OPENBLAS_NUM_THREADS"


def install_interrupt_handler() -> None:
    """Exit quietly on Ctrl-C, unless the process was started to ignore it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _exit_on_sigint)


def _exit_on_sigint(_number: int, _frame: FrameType | None) -> NoReturn:
    try:
        if os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb":
            os.write(2, _CLEAR_LINE)  # a progress bar may be there
    finally:
        os._exit(EXIT_INTERRUPTED)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return its exit code, or end the process with it."""
    install_interrupt_handler()
    words = sys.argv[1:] if arguments is None else arguments
    if not words and os.environ.get(FRONT_END_ENV_VARIABLE):
        return run_serve(None, for_pocketrag=not os.environ.get(USER_DATA_ENV_VARIABLE))
    if words == ["serve"]:
        return run_serve(None)
    if words[:2] == ["kernel", "--user-data"]:  # as clients start it
        from codekernel.cli.commands.kernel import run_shared_kernel

        run_shared_kernel(words[2])
    if words[:1] == ["mcp"] and (options := _parse_mcp_options(words[1:])) is not None:
        from codekernel.cli.commands.mcp import run_relay  # as serve

        run_relay(options.get("--repo"), options.get("--user-data"))
    from codekernel.cli.late_modules import put_off_imports  # relays do without

    put_off_imports()
    # Its argparse costs more than the whole start of serve.
    from codekernel.cli.command_line import run_command

    return run_command(words)


def _parse_mcp_options(words: list[str]) -> dict[str, str] | None:
    """Return the values of the options agents are configured with; None if there are others.

    A relay does without argparse: it takes 1.5 MB, and there is a relay for each agent.
    """
    names, values = words[::2], words[1::2]
    are_usual = len(names) == len(values) and {*names} <= {"--repo", "--user-data"}
    if not are_usual or any(value.startswith("-") for value in values):
        return None
    return dict(zip(names, values, strict=True))


def run_serve(
    user_data: str | None, *, for_pocketrag: bool = False, standalone: bool = False
) -> int:
    """Serve a front end."""
    from codekernel.cli.commands import serve  # the only one that claims the descriptors

    standalone = standalone or bool(os.environ.get(STANDALONE_ENV_VARIABLE))
    return serve.run_serve(user_data, for_pocketrag=for_pocketrag, standalone=standalone)
