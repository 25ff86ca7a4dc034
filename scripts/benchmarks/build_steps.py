"""What each step of the build of a base takes, and what it leaves in the store."""

import os
import sys
import time

import psutil
from clients_place import ROOT  # noqa: F401 - where the kernel is found
from codekernel.base.base_building import BuildProgress
from codekernel.base.base_place import BasePlace

SERVER = "weed"


class BuildSteps:
    """The clock and the CPU of each step: of this process, of its workers, of the store."""

    def __init__(self) -> None:
        self._name = ""
        self._began = self._look()
        self.taken: dict[str, list[float]] = {}

    def enter(self, progress: BuildProgress) -> None:
        """Note that a step begins, if it does."""
        if progress.step == self._name:
            return
        self.end()
        self._name, self._began = progress.step, self._look()

    def end(self) -> None:
        """Note that the last step has ended."""
        if self._name:
            spent = [
                after - before for before, after in zip(self._began, self._look(), strict=True)
            ]
            self.taken[self._name] = spent
            seconds, own, workers, store = spent
            print(
                f"  {self._name}: {seconds:.0f} s; CPU {own:.1f} s, workers {workers:.1f} s,"
                f" store {store:.1f} s",
                flush=True,
            )
        self._name = ""

    def print(self, chunks: int) -> None:
        """Print the steps as a table, per chunk."""
        print("| step | s | CPU us a chunk: committer | workers | store |\n" + "|---" * 5 + "|")
        for name, (seconds, *used) in self.taken.items():
            cells = " | ".join(f"{1e6 * each / chunks:.1f}" for each in used)
            print(f"| {name} | {seconds:.0f} | {cells} |")
        print_load()

    def _look(self) -> list[float]:
        own = psutil.Process()
        times = own.cpu_times()
        workers, store = times.children_user + times.children_system, 0.0
        for child in own.children(recursive=True):
            try:
                used, name = sum(child.cpu_times()[:2]), child.name()
            except psutil.NoSuchProcess:
                continue
            if name == SERVER:
                store += used
            else:
                workers += used
        return [time.perf_counter(), times.user + times.system, workers, store]


def print_load() -> None:
    """Print how busy the machine is."""
    print(f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores", flush=True)


def print_sizes(place: BasePlace, chunks: int) -> None:
    """Print what lies in the store, by kind."""
    sizes: dict[str, list[int]] = {}
    for each in place.store.list_objects(place.folder, 60.0):
        kind, _, rest = each.name.removeprefix(place.folder).partition("/")
        if kind == "table":
            kind = f"table {rest.split('/')[1]}"
        sizes.setdefault(kind, []).append(each.size)
    for kind, found in sorted(sizes.items()):
        size = sum(found)
        print(f"  {kind}: {len(found)} objects, {size / 1e6:.1f} MB, {size / chunks:.0f} B a chunk")
    sys.stdout.flush()
