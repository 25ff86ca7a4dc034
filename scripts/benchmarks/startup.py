"""How long until ``ready``, and until the first answer, as multiples of ``python -c pass``."""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernel_child import KernelChild

TARGET = 4.0


def main() -> int:
    """Measure the three in turn, so that a busy machine is unfair to all alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    bare, ready, answer = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(
            rounds + 1
        ):  # the first makes the vault and warms the disk; it does not count
            bare.append(_bare_python())
            to_ready, to_answer = _kernel(Path(folder))
            ready.append(to_ready)
            answer.append(to_answer)
    base = statistics.median(bare[1:])
    print(f"startup: median of {rounds} rounds, Python {sys.version.split()[0]}")
    print(f"  python -c pass       {base * 1000:7.1f} ms")
    for name, times in (("spawn to ready", ready), ("spawn to getRepos", answer)):
        middle = statistics.median(times[1:])
        print(f"  {name:20} {middle * 1000:7.1f} ms  {middle / base:5.2f}x")
    ratio = statistics.median(ready[1:]) / base
    print(f"  target: ready <= {TARGET}x: {'met' if ratio <= TARGET else 'MISSED'}")
    return 0 if ratio <= TARGET else 1


def _bare_python() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - started


def _kernel(folder: Path) -> tuple[float, float]:
    started = time.perf_counter()
    with KernelChild(folder) as kernel:
        kernel.output.readline()
        ready = time.perf_counter() - started
        kernel.ask({"type": "getRepos"})
        return ready, time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
