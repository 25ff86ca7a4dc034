"""The kernel with one more thread that computes in Python without pause.

It stands for the worst a session can do to the others: chunking or ranking that never lets go of
the interpreter lock by itself.
"""

import sys
import threading

from codekernel.cli.commands.serve import run_serve


def compute() -> None:
    """Keep the interpreter busy."""
    while True:
        sum(number * number for number in range(1000))


threading.Thread(target=compute, daemon=True).start()
sys.exit(run_serve(None))
