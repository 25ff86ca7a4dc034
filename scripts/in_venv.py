"""Run a module in the project's environment: ``python scripts/in_venv.py ruff check``."""

import subprocess
import sys

import environment

if __name__ == "__main__":
    interpreter = environment.ensure(environment.DEVELOPMENT_LOCK)
    command = [str(interpreter), "-m", *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=environment.ROOT, check=False).returncode)
