"""``codekernel agent --stdio`` as a program starts it, with a scripted model."""

import json
import subprocess
from pathlib import Path
from typing import Any

from support.command_line import CODEKERNEL, TIMEOUT_SECONDS
from support.kernel_process import bare_environment

Lines = list[dict[str, Any]]
SKIP = ("plan", {"action": "skip"})


def tricode(user_data: Path, folder: Path, *words: str) -> tuple[int, Lines, str]:
    """Run it; its exit code, its lines, what it wrote to stderr."""
    done = subprocess.run(
        [*CODEKERNEL, "agent", *words],
        capture_output=True,
        env=bare_environment(user_data),
        cwd=folder,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    return done.returncode, lines, done.stderr.decode("utf-8")


def of_type(lines: Lines, kind: str) -> Lines:
    return [line for line in lines if line["type"] == kind]
