"""Whatever the moment of kill -9: the table opens, and what was acknowledged is there."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from codekernel.storage.vectors.vector_table import VectorTable
from storage.vector_writer import DIMENSIONS, PASSING, vectors_of
from support.effort import tries

ROOT = Path(__file__).parents[2]
KILLS = tries(8, promised=20)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_acknowledged_vectors_survive_kill_9_at_any_moment(tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    chance = random.Random(4)  # noqa: S311  # the same moments each time, as far as that goes
    acknowledged = 0
    for _ in range(KILLS):
        acknowledged = run_and_kill(folder, acknowledged, chance)
        table = VectorTable.open(folder, DIMENSIONS)
        keys = list(range(acknowledged))
        assert table.find_missing(keys).tolist() == []
        for key in {0, acknowledged // 2, acknowledged - 1}:
            found, cosines = table.search(vectors_of([key])[0], 1)
            assert found.tolist() == [key]
            assert cosines[0] == pytest.approx(1, abs=1e-3)
        # The next child begins where this one stopped, also when an add was not acknowledged.
        acknowledged = int(np.max(held(table), initial=-1)) + 1
        table.close()
    assert list(tmp_path.glob("vectors.unreadable-*")) == []
    final = VectorTable.open(folder, DIMENSIONS)
    final.compact()
    assert final.count_versions() <= 2
    assert len(final._require_contents().lance_table) == len(final)


def held(table: VectorTable) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    keys = table._require_contents().keys.to_array()
    return keys[keys < PASSING]


def run_and_kill(folder: Path, first: int, chance: random.Random) -> int:
    """Kill the child after some acknowledgements and some more microseconds."""
    with subprocess.Popen(
        [sys.executable, str(ROOT / "tests/storage/vector_writer.py"), str(folder), str(first)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        for _ in range(chance.randrange(1, 12)):
            first = int(child.stdout.readline())
        # A few hundred microseconds to a few milliseconds: somewhere inside the next commit.
        for _ in range(chance.randrange(0, 40_000)):
            pass
        child.kill()
        rest, _ = child.communicate()
    whole = [line for line in rest.split("\n")[:-1] if line]
    return int(whole[-1]) if whole else first
