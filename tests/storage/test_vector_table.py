"""A table of vectors: what is added is found, what is kept stays, what is broken is set aside."""

import logging
import random
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from codekernel.errors import StorageError
from codekernel.storage.vectors.in_memory_vectors import FloatArray
from codekernel.storage.vectors.vector_table import VectorTable
from storage.vector_writer import DIMENSIONS as WRITER_DIMENSIONS
from storage.vector_writer import PASSING, vectors_of
from support.effort import choose_tries

DIMENSIONS = 32


def some(count: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((count, DIMENSIONS)).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


@pytest.fixture
def table(folder: Path) -> Iterator[VectorTable]:
    opened = VectorTable.open(folder, DIMENSIONS)
    yield opened
    opened.close()


def test_an_added_vector_is_found_at_once_and_after_opening_again(
    table: VectorTable, folder: Path
) -> None:
    vectors = some(50)
    table.add(np.arange(100, 150), vectors)
    for each in (table, VectorTable.open(folder, DIMENSIONS)):
        keys, cosines = each.search(vectors[7], 3)
        assert keys[0] == 107
        assert cosines[0] == pytest.approx(1, abs=1e-3)
        assert list(cosines) == sorted(cosines, reverse=True)
        assert len(each) == 50


def count_fragments(folder: Path) -> int:
    return len([*folder.glob("rows.lance/data/*.lance")])


def measure_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_a_key_keeps_its_first_vector(table: VectorTable, folder: Path) -> None:
    vectors = some(4)
    table.add([1, 2, 2], vectors[:3])
    table.add([2, 3], vectors[2:])
    assert len(table) == 3
    assert count_fragments(folder) == 2
    assert table.search(vectors[1], 1)[1][0] == pytest.approx(1, abs=1e-3)
    table.add([1, 3], vectors[:2])
    assert count_fragments(folder) == 2


def test_missing_keys_are_named_once(table: VectorTable) -> None:
    table.add([5, -(2**63), 2**63 - 1], some(3))
    assert table.find_missing([9, 5, 9, -(2**63), 4]).tolist() == [4, 9]
    assert table.find_missing([]).tolist() == []


def test_an_empty_table_finds_nothing(table: VectorTable) -> None:
    keys, cosines = table.search(some(1)[0], 10)
    assert (len(keys), len(cosines)) == (0, 0)
    table.add([], some(0))
    assert len(table) == 0


@pytest.mark.parametrize("exact_numbers", [10**9, 0])
def test_rows_that_belong_to_nobody_are_passed_over(folder: Path, exact_numbers: int) -> None:
    table = VectorTable.open(folder, DIMENSIONS, max_exact_numbers=exact_numbers)
    vectors = some(3_000)
    table.add(np.arange(3_000), vectors)
    rare, _ = table.search(vectors[0], 5, lambda keys: keys % 500 == 3)
    ranked, _ = table.search(vectors[0], 3_000)
    assert rare.tolist() == [key for key in ranked.tolist() if key % 500 == 3][:5]
    assert len(table.search(vectors[0], 5, lambda keys: keys > 2_997)[0]) == 2
    assert len(table.search(vectors[0], 5, lambda keys: keys < 0)[0]) == 0


def test_keep_deletes_all_others_for_good(table: VectorTable, folder: Path) -> None:
    table.add(np.arange(100), some(100))
    assert table.delete_except(np.arange(40, 200)) == 40
    assert table.needs_compaction
    assert table.delete_except(np.arange(40, 200)) == 0
    table.compact()
    for each in (table, VectorTable.open(folder, DIMENSIONS)):
        assert len(each) == 60
        assert each.find_missing(np.arange(41)).tolist() == list(range(40))
        assert each.search(some(100)[3], 100)[0].min() == 40
    assert table.delete_except([]) == 60
    assert len(table) == 0


def test_vectors_without_a_direction_are_similar_to_nothing(table: VectorTable) -> None:
    vectors = some(6)
    vectors[1] = 0
    vectors[2, 3] = np.nan
    vectors[3, 0] = np.inf
    vectors[4] *= 1e30
    table.add(np.arange(6), vectors)
    keys, cosines = table.search(some(6)[4], 6)
    by_key = dict(zip(keys.tolist(), cosines.tolist(), strict=True))
    assert [by_key[key] for key in (1, 2, 3)] == [0, 0, 0]
    assert by_key[4] == pytest.approx(1, abs=1e-3)
    for query in (vectors[1], vectors[2]):
        assert table.search(query, 6)[1].tolist() == [0] * 6


def test_many_small_adds_are_compacted_into_few_versions(table: VectorTable, folder: Path) -> None:
    vectors = some(70)
    for key in range(70):
        table.add([key], vectors[key : key + 1])
    needed_compaction = table.needs_compaction
    before = measure_bytes(folder)
    table.compact()
    assert table.count_versions() == 1
    assert count_fragments(folder) == 1
    assert measure_bytes(folder) < before
    assert (needed_compaction, table.needs_compaction) == (True, False)
    assert table.search(vectors[3], 1)[0].tolist() == [3]


def test_a_table_that_never_rests_is_compacted_all_the_same(folder: Path) -> None:
    table = VectorTable.open(folder, DIMENSIONS, max_commits=10)
    for key in range(25):
        table.add([key], some(1, key))
    assert table.count_versions() <= 10
    assert len(table) == 25


def test_a_table_of_other_dimensions_is_quarantined(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    VectorTable.open(folder, 16).add([1], np.ones((1, 16), np.float32))
    with caplog.at_level(logging.WARNING):
        table = VectorTable.open(folder, DIMENSIONS)
    assert len(table) == 0
    assert "was moved to vectors.unreadable-" in caplog.text
    table.add([1], some(1))
    assert len(VectorTable.open(folder, DIMENSIONS)) == 1


def test_a_foreign_table_is_quarantined(folder: Path) -> None:
    import lancedb  # noqa: PLC0415 - two seconds of CPU, for each worker

    lancedb.connect(str(folder)).create_table("rows", [{"key": 1, "vector": [0.5] * DIMENSIONS}])
    assert len(VectorTable.open(folder, DIMENSIONS)) == 0


@pytest.mark.parametrize("damaged", ["data/*.lance", "_versions/*.manifest"])
@pytest.mark.parametrize("damage", ["cut", "overwritten", "gone"])
def test_a_damaged_table_is_quarantined_and_only_one_such_is_kept(
    folder: Path, damaged: str, damage: str
) -> None:
    for _ in range(2):
        table = VectorTable.open(folder, DIMENSIONS)
        assert len(table) == 0
        table.add(np.arange(500), some(500))
        table.close()
        for file in folder.glob(f"rows.lance/{damaged}"):
            content = file.read_bytes()
            if damage == "cut":
                file.write_bytes(content[: len(content) // 2])
            elif damage == "overwritten":
                file.write_bytes(b"\x07" * len(content))
            else:
                file.unlink()
    assert len(VectorTable.open(folder, DIMENSIONS)) == 0
    assert len(list(folder.parent.glob("vectors.unreadable-*"))) == 1


def test_a_key_that_is_there_twice_counts_once_and_is_mended(
    table: VectorTable, folder: Path
) -> None:
    vectors = some(3)
    table.add([1, 2, 3], vectors)
    table._require_contents().lance_table().add(np.array([2, 3]), vectors[:2])
    again = VectorTable.open(folder, DIMENSIONS)
    assert len(again) == 3
    assert again.search(vectors[1], 1)[0].tolist() == [2]
    assert len(again._require_contents().lance_table()) == 3


def test_a_repeated_key_is_mended_when_compacting(table: VectorTable) -> None:
    table.add([1, 2, 3], some(3))
    table._require_contents().lance_table().add(np.array([2, 3]), some(2))
    table.compact()
    assert len(table._require_contents().lance_table()) == len(table) == 3


def test_a_disk_that_is_full_is_said_and_the_table_goes_on(table: VectorTable) -> None:
    table.add(np.arange(10), some(10))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(StorageError, match="cannot be written"):
            table.add(np.arange(10, 5_000), some(4_990))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(table) == 10
    table.add(np.arange(10, 5_000), some(4_990))
    table.compact()
    assert len(table) == 5_000


def test_a_closed_table_refuses(table: VectorTable) -> None:
    table.add([1], some(1))
    table.close()
    table.close()
    with pytest.raises(StorageError, match="closed"):
        table.search(some(1)[0], 1)
    with pytest.raises(StorageError, match="closed"):
        table.add([2], some(1))
    with pytest.raises(StorageError, match="closed"):
        table.find_missing([2])


READ_DIMENSIONS = 64
SETTLED = 300
ADDS = 40
READERS = 3


def rows(count: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((count, READ_DIMENSIONS)).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("exact_numbers", [10**9, READ_DIMENSIONS * (SETTLED + 100), 0])
def test_readers_see_every_acknowledged_row_while_a_writer_adds_and_compacts(
    tmp_path: Path, exact_numbers: int
) -> None:
    table = VectorTable.open(tmp_path / "vectors", READ_DIMENSIONS, max_exact_numbers=exact_numbers)
    settled = rows(SETTLED, 0)
    table.add(np.arange(SETTLED), settled)
    acknowledged = [SETTLED]
    over = threading.Event()

    def read(number: int) -> int:
        searches = 0
        while not over.is_set() or searches == 0:
            expected = acknowledged[0]
            row = (searches * READERS + number) % SETTLED
            keys, cosines = table.search(settled[row], expected)
            assert keys[0] == row
            assert len(keys) == expected
            assert len(set(keys.tolist())) == expected
            assert np.isfinite(cosines).all()
            assert len(table.find_missing(np.arange(expected))) == 0
            searches += 1
        return searches

    def write() -> None:
        try:
            for turn in range(ADDS):
                table.add(np.arange(10) + acknowledged[0], rows(10, turn + 1))
                acknowledged[0] += 10
                if turn % 10 == 9:
                    table.compact()
        finally:
            over.set()

    with ThreadPoolExecutor(READERS + 1) as pool:
        readers = [pool.submit(read, number) for number in range(READERS)]
        pool.submit(write).result()
        assert all(reader.result() > 0 for reader in readers)
    assert len(table) == SETTLED + 10 * ADDS


def test_a_search_is_not_blocked_by_a_writer_at_work(tmp_path: Path) -> None:
    table = VectorTable.open(tmp_path / "vectors", READ_DIMENSIONS)
    table.add([1], rows(1, 0))
    with table._write_lock:
        assert table.search(rows(1, 0)[0], 1)[0].tolist() == [1]
        assert table.find_missing([1, 2]).tolist() == [2]


ROOT = Path(__file__).parents[2]
KILLS = choose_tries(8, full=20)


@pytest.mark.slow
def test_acknowledged_vectors_survive_kill_9_at_any_moment(tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    chance = random.Random(4)  # noqa: S311  # the same moments each time, as far as that goes
    acknowledged = 0
    for _ in range(KILLS):
        acknowledged = run_and_kill(folder, acknowledged, chance)
        table = VectorTable.open(folder, WRITER_DIMENSIONS)
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
    final = VectorTable.open(folder, WRITER_DIMENSIONS)
    final.compact()
    assert final.count_versions() <= 2
    assert len(final._require_contents().lance_table()) == len(final)


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
