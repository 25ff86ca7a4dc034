"""Set up and run codekernel: ``python scripts/run.py [codekernel arguments]``."""

import os
import signal
import subprocess
import sys

import environment


def main() -> int:
    """Run the product with the arguments given; its exit code is ours."""
    interpreter = str(environment.ensure(environment.RUNTIME_LOCK))
    command = [interpreter, "-m", "kernel", *sys.argv[1:]]
    if os.name != "nt":
        os.execv(interpreter, command)  # noqa: S606 - becomes the product: its signals, its exit code
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child hears the same Ctrl-C and decides
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
