"""Set up and run every check: ``python scripts/test.py [fast] [pytest arguments]``.

``fast`` leaves out what takes seconds (fuzzing, stress, real processes by the dozen).
"""

import subprocess
import sys
import time

import environment

FAST = ["-m", "not slow"]


def main() -> int:
    """Run each check, all of them even if one fails; 0 if all passed."""
    arguments = sys.argv[1:]
    fast = arguments[:1] == ["fast"]
    if fast:
        arguments = [*FAST, *arguments[1:]]
    interpreter = str(environment.ensure(environment.DEVELOPMENT_LOCK))
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


def _passes(interpreter: str, name: str, words: list[str]) -> bool:
    started = time.monotonic()
    done = subprocess.run([interpreter, "-m", *words], cwd=environment.ROOT, check=False)
    verdict = "FAILED" if done.returncode else "ok"
    print(f"[{name}: {verdict}, {time.monotonic() - started:.0f} s]", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
