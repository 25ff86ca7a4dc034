"""How long a packaged kernel takes until ``ready``, as a multiple of the kernel from source.

``python scripts/dist_startup.py PATH/TO/resources/kernel/codekernel [--rounds 20]``
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import environment

MAX_RATIO = 1.5
GET_REPOS = {
    "sessionId": -1,
    "toMain": True,
    "callbackId": 7,
    "isReply": False,
    "message": {"type": "getRepos"},
}


def main() -> int:
    """Measure both in turn, so that a busy machine is unfair to both alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packaged", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    chosen = parser.parse_args()
    source = [str(environment.ensure(environment.RUNTIME_LOCK)), "-m", "codekernel", "serve"]
    packaged = [str(chosen.packaged.resolve()), "serve"]
    times: dict[str, list[tuple[float, float]]] = {"from source": [], "packaged": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(chosen.rounds + 1):  # the first makes the vault; it does not count
            times["from source"].append(_start(source, folder))
            times["packaged"].append(_start(packaged, folder))
    print(f"start of the kernel: median of {chosen.rounds} rounds; to ready, to its first answer")
    middle = {name: _medians(rounds[1:]) for name, rounds in times.items()}
    for name, (ready, answer) in middle.items():
        print(f"  {name:12} {ready * 1000:7.1f} ms {answer * 1000:7.1f} ms")
    ratios = [late / early for early, late in zip(*middle.values(), strict=True)]
    met = max(ratios) <= MAX_RATIO
    print(f"  packaged / source: {ratios[0]:.2f}x, {ratios[1]:.2f}x; target <= {MAX_RATIO}x: "
          f"{'met' if met else 'MISSED'}")  # fmt: skip
    return 0 if met else 1


def _start(command: list[str], folder: str) -> tuple[float, float]:
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=environment.ROOT,
        env={"CODEKERNEL_USER_DATA": folder},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as kernel:
        assert kernel.stdin  # noqa: S101 - asked for above
        assert kernel.stdout  # noqa: S101
        kernel.stdout.readline()
        ready = time.perf_counter() - started
        kernel.stdin.write(json.dumps(GET_REPOS).encode() + b"\n")
        kernel.stdin.flush()
        while not json.loads(kernel.stdout.readline())["isReply"]:
            pass
        answer = time.perf_counter() - started
        kernel.stdin.close()
        kernel.wait()
    return ready, answer


def _medians(rounds: list[tuple[float, float]]) -> tuple[float, float]:
    ready, answer = zip(*rounds, strict=True)
    return statistics.median(ready), statistics.median(answer)


if __name__ == "__main__":
    sys.exit(main())
