"""After kill -9 at any moment nothing acknowledged is lost or redone, and the index is right."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.effort import choose_tries
from support.indexer_process import IndexerProcess
from support.killed_indexer import MOMENTS, KilledIndexer

KILLS = choose_tries(24, full=104)  # three at each moment
# Two repositories at once, for two cores: starting is most of the work.
LANES = 2
CHECK_POINTS = choose_tries(1, full=3)


def run_lane(place: Path, seed: int) -> Counter[str]:
    lane = KilledIndexer(place, seed)
    lives = KILLS // LANES
    for life in range(1, lives + 1):
        lane.run_until_killed()
        if life % (lives // CHECK_POINTS) == 0:
            lane.compare_with_clean(place / f"clean{life}")
    return lane.moments


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_whatever_the_moment_of_kill_9_the_index_equals_a_clean_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(LANES) as lanes:
        running = [lanes.submit(run_lane, tmp_path / str(seed), seed) for seed in range(LANES)]
        moments = sum((lane.result() for lane in running), Counter[str]())
    assert moments.total() == KILLS
    assert moments.keys() == {word for word, _, _ in MOMENTS}, moments


@pytest.mark.slow
def test_a_first_start_that_is_killed_again_and_again_still_becomes_an_index(
    tmp_path: Path,
) -> None:
    lane = KilledIndexer(tmp_path, seed=7)
    for word, count, seconds in MOMENTS:
        follower = IndexerProcess(lane.editor.root, lane.folder, lane.lengths)
        follower.send("settle")
        follower.wait_for_line(word, count)
        follower.kill(lane.chance.uniform(0, seconds))
        lane.assert_nothing_redone(follower)
        lane.acknowledged |= follower.list_reported("done")
        lane.assert_nothing_lost()
    lane.compare_with_clean(tmp_path / "clean")
