"""The child's side of a rival: requests in, replies out, one JSON object per line.

Runs inside the rival's own environment; standard library only, and nothing of the kernel.
A failure ends the process: its traceback goes to stderr, where the parent finds it.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

BYTES_PER_MEGABYTE = 1e6
# Where /proc/PID/stat tells the processor time, counted from behind the name of the program.
USER_TICKS, SYSTEM_TICKS = 11, 12

Answer = Callable[[dict[str, Any]], dict[str, object]]


def serve(load: Callable[[], tuple[dict[str, float], dict[str, Answer]]]) -> None:
    """Load the rival, say how long that took, then answer until stdin ends."""
    # Libraries print to stdout; replies go to a copy of it, everything else to stderr.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)
        ready, answers = load()
        _write(output, {**ready, "rss_mb": resident_megabytes()})
        for line in sys.stdin:
            request = json.loads(line)
            _write(output, answers[request.pop("do")](request))


class Stopwatch:
    """Wall and processor time, this process and its children together."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _cpu_seconds()

    def milliseconds(self) -> dict[str, float]:
        """Both, as the reply to a search has them."""
        wall, cpu = self.seconds(), self.cpu_seconds()
        return {"milliseconds": wall * 1e3, "cpu_milliseconds": cpu * 1e3}

    def seconds(self) -> float:
        """By the clock."""
        return time.perf_counter() - self._wall

    def cpu_seconds(self) -> float:
        """By the processor."""
        return _cpu_seconds() - self._cpu


def resident_megabytes() -> float:
    """The memory of this process now, where the system tells; otherwise 0."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return 0.0
    pages = int(statm.read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / BYTES_PER_MEGABYTE


def _cpu_seconds() -> float:
    # The system counts this process in microseconds, its children only in ticks of 10 ms.
    used = os.times()
    return (
        time.process_time()
        + used.children_user
        + used.children_system
        + sum(map(_measure_cpu_seconds, _running_children()))
    )


def _running_children() -> list[int]:
    """Processes this one has started and not yet waited for, where the system tells."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text(encoding="ascii").split()]


def _measure_cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:  # it has ended meanwhile
        return 0.0
    return (int(fields[USER_TICKS]) + int(fields[SYSTEM_TICKS])) / os.sysconf("SC_CLK_TCK")


def _write(output: TextIO, reply: dict[str, object]) -> None:
    print(json.dumps(reply), file=output, flush=True)
