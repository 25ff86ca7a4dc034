"""A kernel that crashes when it reads a line with the word ``break`` in it."""

import sys
from typing import Any

from codekernel.cli.commands.serve import run_serve
from codekernel.dispatch.dispatcher import Dispatcher

accept = Dispatcher.accept


def accept_or_break(self: Dispatcher[Any, Any], line: bytes) -> None:
    if line == b"break":
        raise MemoryError("no memory left")
    accept(self, line)


Dispatcher.accept = accept_or_break  # type: ignore[method-assign]  # a fault for tests
sys.exit(run_serve(None, standalone=True))
