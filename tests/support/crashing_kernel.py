"""A kernel that crashes when it reads a line with the word ``break`` in it."""

import sys

from codekernel.cli.commands.serve import run_serve
from codekernel.dispatch.dispatcher import Dispatcher

accept = Dispatcher.accept


def accept_or_break(self: Dispatcher, line: bytes) -> None:  # type: ignore[type-arg]
    if line == b"break":
        raise MemoryError("no memory left")
    accept(self, line)


Dispatcher.accept = accept_or_break  # type: ignore[method-assign]
sys.exit(run_serve(None))
