"""Count how often the threads of an idle index wake up.

Opens the index of a copy of a folder, waits until it agrees with the files and is compacted, then
counts the voluntary context switches of each Python thread (``/proc``, so Linux alone). Threads of
native libraries are listed apart. The target is 0 wake-ups of our threads in 60 s; a disk that is
mounted or unmounted meanwhile, anywhere, wakes the thread "watching" once.

    python scripts/benchmarks/idle_wakeups.py [FOLDER] [--seconds 60]
"""

import argparse
import shutil
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.inference.model_pool import ModelPool

POLL_INTERVAL_SECONDS = 0.1
# The store is compacted after two seconds without work, the vectors too; then nothing is left.
SETTLE_SECONDS = 10.0
TASKS = Path("/proc/self/task")


def main() -> int:
    """Print the wake-ups of each thread; 1 if one of ours woke up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(__file__).parents[2] / "kernel"
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    models = ModelPool()
    plan = IndexPlan((ConfigPlan("static", get_bundled_folder() / STATIC_MODEL, 950),))
    with tempfile.TemporaryDirectory() as place, ExitStack() as opened:
        root = Path(place).resolve() / "repo"  # a copy, in which nothing changes meanwhile
        shutil.copytree(args.folder, root, ignore=shutil.ignore_patterns("__pycache__"))
        index = RepositoryIndex(root, Path(place) / "index", lambda: models)
        opened.callback(index.close)
        index.start(plan)
        while not index.is_idle:
            time.sleep(POLL_INTERVAL_SECONDS)
        time.sleep(SETTLE_SECONDS)
        before = count_switches()
        time.sleep(args.seconds)
        after = count_switches()
        status = index.get_status()
        names = {
            thread.native_id: thread.name
            for thread in threading.enumerate()
            if thread is not threading.main_thread() and thread.native_id is not None
        }
    print(f"{status.files} files, {status.state}; wake-ups in {args.seconds:.0f} s:")
    return report(before, after, names)


def count_switches() -> dict[int, int]:
    """Return the voluntary context switches of each thread of this process so far."""
    found = {}
    for task in TASKS.iterdir():
        for line in (task / "status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                found[int(task.name)] = int(line.split()[1])
    return found


def report(before: dict[int, int], after: dict[int, int], names: dict[int, str]) -> int:
    """Print a table; returns 1 if one of our threads woke up."""
    wakeups = {task: count - before.get(task, 0) for task, count in after.items()}
    ours = {names[task]: count for task, count in wakeups.items() if task in names}
    native = sum(count for task, count in wakeups.items() if task not in names)
    for name, count in sorted(ours.items()):
        print(f"{count:6} {name}")
    print(f"{sum(ours.values()):6} all of our {len(ours)} threads")
    print(f"{native:6} native threads and the main thread")
    return 1 if any(ours.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
