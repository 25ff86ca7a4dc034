"""Set up and run every check: ``python scripts/test.py [fast] [pytest arguments]``.

``fast`` leaves out what takes seconds (fuzzing, stress, real processes by the dozen).
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress

import environment

FAST = ["-m", "not slow"]
# Shells whose completion scripts are tested where they are installed.
SHELLS = ("zsh", "fish")
# Containers set it; without bytecode pytest writes every assert of every file anew each time.
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
APT_SECONDS = 300  # a mirror that does not answer must not keep the tests waiting


def main() -> int:
    """Run each check, all of them even if one fails; 0 if all passed."""
    arguments = sys.argv[1:]
    fast = arguments[:1] == ["fast"]
    if fast:
        arguments = [*FAST, *arguments[1:]]
    else:
        _install_shells()
    interpreter = str(environment.ensure(environment.DEVELOPMENT_LOCK))
    if not fast:
        environment.add_models()
    checks = {
        "lint": ["ruff", "check", "--quiet"],
        "format": ["ruff", "format", "--check", "--quiet"],
        "types": ["mypy"],
        "tests": ["pytest", "-q", "-n", "2", *arguments],
    }
    failed = [name for name, words in checks.items() if not _passes(interpreter, name, words)]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


def _install_shells() -> None:
    """On a machine that is thrown away afterwards, have what few people have; elsewhere ask nobody.

    Without them a few tests are skipped, so that a failure here is none.
    """
    missing = [shell for shell in SHELLS if not shutil.which(shell)]
    apt = shutil.which("apt-get")
    if missing and apt and hasattr(os, "geteuid") and os.geteuid() == 0:
        quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    [apt, "-qq", *words],
                    env=quietly,
                    check=False,
                    stdout=subprocess.DEVNULL,
                    timeout=APT_SECONDS,
                )


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
