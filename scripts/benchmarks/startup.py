"""How long until ``ready``, and until the first answer, as multiples of ``python -c pass``.

Then the processor time that the imports of each command take before its own work begins.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernel_child import KernelChild

TARGET = 4.0
COMMANDS = Path(__file__).resolve().parents[2] / "kernel" / "codekernel" / "cli" / "commands"
MAX_COMMAND_SECONDS = 0.25
# The least of them counts: a neighbour can only add to it.
COMMAND_ROUNDS = 3


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
    return 0 if _print_commands() and ratio <= TARGET else 1


def _print_commands() -> bool:
    """Print what the imports of each command cost; whether none costs more than wanted."""
    names = [path.stem for path in COMMANDS.glob("[!_]*.py")]
    costs = sorted(((_measure_imports(name), name) for name in names), reverse=True)
    print("\n| imports of the command | CPU s |\n|---|---|")
    for seconds, name in costs:
        print(f"| {name} | {seconds:.2f} |")
    slow = [name for seconds, name in costs if seconds > MAX_COMMAND_SECONDS]
    print(f"\n- above {MAX_COMMAND_SECONDS} s: {', '.join(slow) or 'none'}")
    return not slow


def _measure_imports(name: str) -> float:
    # As main.py does.
    code = (
        "from codekernel.cli.late_modules import put_off_imports; put_off_imports();"
        f"import codekernel.cli.command_line, codekernel.cli.commands.{name}"
    )
    return min(_measure_cpu([sys.executable, "-c", code]) for _ in range(COMMAND_ROUNDS))


def _measure_cpu(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    spent = after.children_user - before.children_user
    return spent + after.children_system - before.children_system


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
