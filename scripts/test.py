"""Set up and run every check: ``python scripts/test.py [fast|full] [pytest arguments]``.

``fast`` leaves out what takes seconds (fuzzing, stress, real processes by the dozen). ``full`` lets
tests of chance try as often as was promised; it takes some minutes more than the whole run.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import environment
import workshop

# Read by tests/support/effort.py.
FULL_VARIABLE = "CODEKERNEL_FULL_TESTS"
# Containers set it; without bytecode pytest writes every assert of every file anew each time.
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
READERS = {
    "lint": ["ruff", "check", "--quiet"],
    "format": ["ruff", "format", "--check", "--quiet"],
    "types": ["mypy"],
}
TESTS = ["pytest", "-q", "-n", "2", "--dist", "worksteal"]


def main() -> int:
    """Run each check, all of them even if one fails; 0 if all passed."""
    # A shell's background jobs ignore it, and so would every program that tests want to interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    lane, arguments = _lane(sys.argv[1:])
    environment.make()
    with ThreadPoolExecutor() as beside:
        filling = None if lane == "fast" else beside.submit(workshop.fill)
        interpreter = environment.ensure(environment.DEVELOPMENT_LOCK)
        reading = beside.submit(_read, interpreter)
        if filling:
            environment.add_models()
            filling.result()
        failed = [] if _passes(interpreter, "tests", [*TESTS, *arguments]) else ["tests"]
        failed = [*reading.result(), *failed]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


def _lane(words: list[str]) -> tuple[str, list[str]]:
    """Which tests, and what pytest is told."""
    if words[:1] == ["fast"]:
        return "fast", ["-m", "not slow", *words[1:]]
    if words[:1] == ["full"]:
        os.environ[FULL_VARIABLE] = "1"
        return "full", words[1:]
    return "whole", words


def _read(interpreter: Path) -> list[str]:
    """What only reads the code, beside the set-up and the tests; the names of what failed."""
    return [name for name, words in READERS.items() if not _passes(interpreter, name, words)]


def _passes(interpreter: Path, name: str, words: list[str]) -> bool:
    started = time.monotonic()
    command = [str(interpreter), "-m", *words]
    # Held back, or two would write into each other's lines; only tests take long enough to watch.
    quietly = None if name == "tests" else subprocess.PIPE
    done = subprocess.run(
        command,
        cwd=environment.ROOT,
        env=_without_bytecode_off(os.environ),
        stdout=quietly,
        stderr=quietly and subprocess.STDOUT,
        check=False,
    )
    said = (done.stdout or b"").decode(errors="replace") if done.returncode else ""
    verdict = "FAILED" if done.returncode else "ok"
    print(f"{said}[{name}: {verdict}, {time.monotonic() - started:.0f} s]", flush=True)
    return done.returncode == 0


def _without_bytecode_off(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name != NO_BYTECODE}


if __name__ == "__main__":
    sys.exit(main())
