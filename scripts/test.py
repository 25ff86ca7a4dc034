"""Set up and run every check: ``python scripts/test.py [fast|full] [pytest arguments]``.

``fast`` leaves out what takes seconds: fuzzing, stress, tests that start many processes. ``full``
runs randomised tests with all their tries, and takes some minutes longer than the default.

A few tests that fail while all processors are busy are run once more, alone, and named as unsteady
if they pass then. ``full`` gives no second try.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import environment
import system_packages

# Read by tests/support/effort.py.
FULL_VARIABLE = "CODEKERNEL_FULL_TESTS"
# Containers set it; without bytecode pytest rewrites the asserts of every file in each run.
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
STATIC_CHECKS = {
    "lint": ["ruff", "check", "--quiet"],
    "format": ["ruff", "format", "--check", "--quiet"],
    "types": ["mypy"],
}
# A test takes 0.4 s of CPU in a second: the rest is waiting for events, processes and connections.
# In the fast lane nothing is waited for, and each worker takes 4 s of CPU to collect the tests.
WORKERS_PER_PROCESSOR = 3
MAX_WORKERS = 9
TESTS = ["pytest", "-q", "--dist", "worksteal"]
# Read by pytest: where temporary folders are made. On a disk, flushing takes a quarter of the CPU.
TEMPORARY_VARIABLE = "PYTEST_DEBUG_TEMPROOT"
MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - pytest makes a folder of its own in it
MIN_MEMORY_DISK_BYTES = 2 * 1024**3
# More failures than this are no accident of a busy machine.
MAX_SECOND_TRIES = 8
PYTEST_FAILED = 1  # pytest's exit code: all tests ran, some failed
LAST_FAILED = environment.ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"


def main() -> int:
    """Run each check, all of them even if one fails; 0 if all passed."""
    # A background job of a shell ignores SIGINT, and so would every program that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    lane, arguments = _parse_lane(sys.argv[1:])
    environment.make()
    workers = ["-n", str(_count_workers(lane))]
    with ThreadPoolExecutor() as pool:
        installing = None if lane == "fast" else pool.submit(system_packages.install)
        interpreter = environment.ensure(environment.DEVELOPMENT_LOCK)
        checking = pool.submit(_run_static_checks, interpreter)
        if installing:
            environment.add_models()
            installing.result()
        passed = _run_tests(interpreter, [*workers, *arguments], second_try=lane == "whole")
        failed = [*checking.result(), *([] if passed else ["tests"])]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


def _parse_lane(words: list[str]) -> tuple[str, list[str]]:
    """Return which tests to run, and the arguments of pytest."""
    if words[:1] == ["fast"]:
        return "fast", ["-m", "not slow", *words[1:]]
    if words[:1] == ["full"]:
        os.environ[FULL_VARIABLE] = "1"
        return "full", words[1:]
    return "whole", words


def _count_workers(lane: str) -> int:
    processors = os.cpu_count() or 1
    wanted = processors + 1 if lane == "fast" else WORKERS_PER_PROCESSOR * processors
    return min(wanted, MAX_WORKERS)


def _run_static_checks(interpreter: Path) -> list[str]:
    """Run what needs no tests, in parallel with them; return the names of what failed."""
    return [name for name, words in STATIC_CHECKS.items() if not _passes(interpreter, name, words)]


def _run_tests(interpreter: Path, arguments: list[str], *, second_try: bool) -> bool:
    """Run the tests; what failed once more, alone, if it is little enough to be an accident."""
    LAST_FAILED.unlink(missing_ok=True)
    code = _run(interpreter, "tests", [*TESTS, *arguments])
    if code != PYTEST_FAILED or not second_try:
        return code == 0
    names = _list_last_failed()
    if not 0 < len(names) <= MAX_SECOND_TRIES:
        return False
    print(f"A second try of {len(names)}, alone:", *names, sep="\n  ", flush=True)
    if _run(interpreter, "tests", ["pytest", "-q", "--last-failed", *arguments, "-n", "0"]):
        return False
    print("UNSTEADY, failed beside others and passed alone:", *names, sep="\n  ")
    return True


def _list_last_failed() -> list[str]:
    try:
        return sorted(json.loads(LAST_FAILED.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return []


def _passes(interpreter: Path, name: str, words: list[str]) -> bool:
    return _run(interpreter, name, words) == 0


def _run(interpreter: Path, name: str, words: list[str]) -> int:
    """Run a module of the environment, say whether it succeeded; return its exit code."""
    started = time.monotonic()
    command = [str(interpreter), "-m", *words]
    # Buffered, so that two outputs do not mix; only tests take long enough to watch.
    output = None if name == "tests" else subprocess.PIPE
    done = subprocess.run(
        command,
        cwd=environment.ROOT,
        env=_build_environment(os.environ),
        stdout=output,
        stderr=output and subprocess.STDOUT,
        check=False,
    )
    text = (done.stdout or b"").decode(errors="replace") if done.returncode else ""
    verdict = "FAILED" if done.returncode else "ok"
    print(f"{text}[{name}: {verdict}, {time.monotonic() - started:.0f} s]", flush=True)
    return done.returncode


def _build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    built = {name: value for name, value in environ.items() if name != NO_BYTECODE}
    if MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free >= MIN_MEMORY_DISK_BYTES:
        built.setdefault(TEMPORARY_VARIABLE, str(MEMORY_DISK))
    return built


if __name__ == "__main__":
    sys.exit(main())
