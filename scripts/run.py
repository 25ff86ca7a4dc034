"""Set up and run codekernel: ``python scripts/run.py [codekernel arguments]``."""

import subprocess
import sys

import environment


def main() -> int:
    """Run the product with the arguments given; its exit code is ours."""
    interpreter = environment.ensure(environment.RUNTIME_LOCK)
    command = [str(interpreter), "-m", "kernel", *sys.argv[1:]]
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:  # the child had the same Ctrl-C and has said what there is to say
        return 130


if __name__ == "__main__":
    sys.exit(main())
