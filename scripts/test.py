"""Set up and run every check: ``python scripts/test.py [fast] [pytest arguments]``.

``fast`` leaves out what takes seconds (fuzzing, stress, real processes by the dozen).
"""

import os
import subprocess
import sys
import time

import environment
import workshop

FAST = ["-m", "not slow"]
# Containers set it; without bytecode pytest writes every assert of every file anew each time.
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


def main() -> int:
    """Run each check, all of them even if one fails; 0 if all passed."""
    arguments = sys.argv[1:]
    fast = arguments[:1] == ["fast"]
    if fast:
        arguments = [*FAST, *arguments[1:]]
    interpreter = str(environment.ensure(environment.DEVELOPMENT_LOCK))
    if not fast:
        workshop.fill()
        environment.add_models()
    checks = {
        "lint": ["ruff", "check", "--quiet"],
        "format": ["ruff", "format", "--check", "--quiet"],
        "types": ["mypy"],
        "tests": ["pytest", "-q", "-n", "2", "--dist", "worksteal", *arguments],
    }
    failed = [name for name, words in checks.items() if not _passes(interpreter, name, words)]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


def _passes(interpreter: str, name: str, words: list[str]) -> bool:
    started = time.monotonic()
    environ = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    command = [interpreter, "-m", *words]
    done = subprocess.run(command, cwd=environment.ROOT, env=environ, check=False)
    verdict = "FAILED" if done.returncode else "ok"
    print(f"[{name}: {verdict}, {time.monotonic() - started:.0f} s]", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
