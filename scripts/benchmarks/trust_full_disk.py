"""Campaign full_disk: real kernels on a small disk that is filled and freed at random moments.

Each try is a life of a kernel with a repository on the same disk: questions, searches, edits by a
person and by an agent, orderly restarts, while the disk is filled to the last byte or the last
file, sometimes in the middle of an answer. Counted as failures: an answer that was shown and is
gone, no reply in time, a search that fails or misses what it found before, a file of the repository
that is neither old nor new, and whatever has not recovered once there is room. Needs root (mount).
"""

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from trust_full_disk_life import Broken, Life, can_mount
from trust_result import CampaignResult

DEFAULT_TRIES = 20
ACTIONS_PER_LIFE = 14


def run(seed: int, tries: int | None) -> CampaignResult:
    """Run the campaign; the same seed fills the disk at the same moments."""
    count = DEFAULT_TRIES if tries is None else tries
    if not can_mount():
        return CampaignResult(
            "full_disk", 0, notes=("not run: only root on Linux may mount a disk",)
        )
    failures: list[str] = []
    totals: dict[str, int] = {}
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")  # noqa: S311 - repeatable, not secret
        with tempfile.TemporaryDirectory(prefix="trust-disk-") as folder:
            life = Life(Path(folder), chance)
            try:
                with life:
                    for _ in range(ACTIONS_PER_LIFE):
                        life.act()
                    life.recover()
            except (Broken, AssertionError) as error:
                told = " ".join(str(error).split())[:600]
                failures.append(f"seed {seed}, try {number}, after {life.story()}: {told}")
        for name, times in life.counts.items():
            totals[name] = totals.get(name, 0) + times
    notes = (", ".join(f"{times} {name}" for name, times in sorted(totals.items())),)
    return CampaignResult("full_disk", count, tuple(failures), notes)
