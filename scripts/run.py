"""Set up and run codekernel: ``python scripts/run.py [codekernel arguments]``.

Without arguments it is ``codekernel web``: the current folder is indexed and shown in a browser.
The address is printed, too, for machines without a display. Ctrl-C stops it.
"""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import environment

# A front end that sets it wants the kernel itself.
FRONT_END_VARIABLE = "POCKETRAG_USERDATA_PATH"

# Said once, after the set-up.
NEXT_STEP = (
    f"In any project type: python {shlex.quote(str(Path(__file__).resolve()))}"
    " (your browser), or add: search 'where is ...' (this terminal)"
)


def main() -> int:
    """Run the product with the arguments given; its exit code is ours."""
    interpreter = str(environment.ensure(environment.RUNTIME_LOCK, NEXT_STEP))
    command = [interpreter, "-m", "codekernel", *build_arguments(sys.argv[1:], os.environ)]
    if os.name != "nt":
        os.execv(interpreter, command)  # noqa: S606 - becomes the product: its signals, its exit code
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child hears the same Ctrl-C and decides
    return subprocess.run(command, check=False).returncode


def build_arguments(given: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """What codekernel is told."""
    if given or environ.get(FRONT_END_VARIABLE):
        return list(given)
    return ["web"]


if __name__ == "__main__":
    try:
        code = main()
    except KeyboardInterrupt:  # while the environment is made
        code = 130
    sys.exit(code)
