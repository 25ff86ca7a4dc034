"""The campaign ``races``: a folder and a link to the outside change places while tools are at work.

Another process swaps them, thousands of times a second. Threads call every tool that touches files,
undo, the reader of lines and the walk of the indexer. A call has escaped if anything of a tree
outside the root stands in what it said, or if anything there was changed, made or deleted.
"""

import random
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ALLOW_ALL_POLICY, ToolLimits
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from trust_races_calls import CRASHED, Caller
from trust_races_world import CANARY, VARIANTS, Cell, Swapper
from trust_result import CampaignResult

DEFAULT_TRIES = 100_000
# Two cells of each variant, a thread in each.
_CELLS = 8
_CALLS_PER_JOURNAL = 250
# Without flushes to wait for; a journal elsewhere is on another disk, to which things are copied.
_MEMORY = Path("/dev/shm")  # noqa: S108


def run(seed: int, tries: int | None) -> CampaignResult:
    """Make so many calls; each that escaped is a failure."""
    count = DEFAULT_TRIES if tries is None else tries
    place = str(_MEMORY) if _MEMORY.is_dir() else None
    with (
        tempfile.TemporaryDirectory(prefix="races-", dir=place) as world,
        tempfile.TemporaryDirectory(prefix="races-journal-") as elsewhere,
    ):
        return _run(seed, count, Path(world), Path(elsewhere))


def _run(seed: int, count: int, world: Path, elsewhere: Path) -> CampaignResult:
    root, outside = world / "repo", world / "outside"
    root.mkdir()
    outside.mkdir()
    variants = list(VARIANTS)
    cells = [
        Cell(root, outside, f"c{number}", variants[number % len(variants)])
        for number in range(_CELLS)
    ]
    for cell in cells:
        cell.build()
    workers = [
        _Worker(
            cell,
            random.Random(f"{seed}-{cell.name}"),  # noqa: S311 - a seed repeats it
            # One cell in eight deletes to another disk, where each change waits for a flush.
            (elsewhere if number == 0 else world / "journals") / cell.name,
            count // _CELLS + (number < count % _CELLS),
        )
        for number, cell in enumerate(cells)
    ]
    swapper, swaps = Swapper(cells, seed), 0
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        swaps = swapper.end()
    for worker in workers:
        if worker.error is not None:
            raise worker.error
    escapes = [line for worker in workers for line in worker.escapes]
    kinds: Counter[str] = sum((worker.kinds for worker in workers), Counter())
    succeeded = sum(worker.succeeded for worker in workers)
    notes = (
        f"{succeeded:,} calls succeeded while {swaps:,} swaps were made",
        f"escapes by kind: {dict(kinds)}",
    )
    return CampaignResult("races", count, tuple(escapes), notes)


class _Worker(threading.Thread):
    """Makes calls in one cell, and looks at its twin after each."""

    def __init__(self, cell: Cell, chance: random.Random, journals: Path, calls: int) -> None:
        super().__init__(name=cell.name, daemon=True)
        self._cell, self._chance, self._journals, self._calls = cell, chance, journals, calls
        self.escapes: list[str] = []
        self.succeeded = 0
        self.kinds: Counter[str] = Counter()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Until all calls are made."""
        try:
            caller = self._caller(0)
            for number in range(self._calls):
                if number and number % _CALLS_PER_JOURNAL == 0:
                    caller = self._caller(number)
                self._judge(number, *caller.call())
        except BaseException as error:  # noqa: BLE001 - told by the campaign
            self.error = error

    def _caller(self, number: int) -> Caller:
        root = WorkspaceRoot.from_path(self._cell.root)
        journal = ChangeJournal(self._journals / str(number), root)
        limits = ToolLimits(timeout_seconds=10.0)
        context = ToolContext(root, journal, permissions=ALLOW_ALL_POLICY, limits=limits)
        return Caller(self._cell, context, self._chance)

    def _judge(self, number: int, call: str, said: str, success: bool) -> None:  # noqa: FBT001
        self.succeeded += success
        harm = self._cell.harm()
        kinds = {word.split()[0] for word in harm.split(", ") if word}
        if CANARY in said:
            kinds.add("read")
            harm = f"read, {harm}" if harm else "read"
        if said.startswith(CRASHED):
            kinds.add("crashed")
            harm = f"{said} {harm}"
        if harm:
            self.kinds.update(kinds)
            self.escapes.append(f"{self._cell.variant}, call {number} ({call}): {harm[:200]}")
        if kinds - {"read", "crashed"} or not self._cell.is_whole():
            with suppress(OSError):
                self._cell.build()
