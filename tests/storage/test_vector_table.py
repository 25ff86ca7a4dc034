"""A table of vectors: what is added is found, what is kept stays, what is broken is set aside."""

import logging
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from codekernel.errors import StorageError
from codekernel.storage.vectors.quantization import FloatArray
from codekernel.storage.vectors.vector_table import VectorTable

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
    assert table.needs_compaction
    before = measure_bytes(folder)
    table.compact()
    assert table.count_versions() <= 2
    assert count_fragments(folder) == 1
    assert measure_bytes(folder) < before
    assert not table.needs_compaction
    assert table.search(vectors[3], 1)[0].tolist() == [3]


def test_a_table_that_never_rests_is_compacted_all_the_same(folder: Path) -> None:
    table = VectorTable.open(folder, DIMENSIONS, max_commits=10)
    for key in range(25):
        table.add([key], some(1, key))
    assert table.count_versions() <= 10
    assert len(table) == 25


def test_a_table_of_other_dimensions_is_set_aside(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    VectorTable.open(folder, 16).add([1], np.ones((1, 16), np.float32))
    with caplog.at_level(logging.WARNING):
        table = VectorTable.open(folder, DIMENSIONS)
    assert len(table) == 0
    assert "was moved to vectors.unreadable-" in caplog.text
    table.add([1], some(1))
    assert len(VectorTable.open(folder, DIMENSIONS)) == 1


def test_a_foreign_table_is_set_aside(folder: Path) -> None:
    import lancedb  # noqa: PLC0415 - two seconds of CPU, for each worker

    lancedb.connect(str(folder)).create_table("rows", [{"key": 1, "vector": [0.5] * DIMENSIONS}])
    assert len(VectorTable.open(folder, DIMENSIONS)) == 0


@pytest.mark.parametrize("damaged", ["data/*.lance", "_versions/*.manifest"])
@pytest.mark.parametrize("damage", ["cut", "overwritten", "gone"])
def test_a_damaged_table_is_set_aside_and_only_one_such_is_kept(
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
    table._require_contents().fingerprints.add(np.array([2, 3]), vectors[:2])
    table._require_contents().lance_table.add(np.array([2, 3]), vectors[:2])
    again = VectorTable.open(folder, DIMENSIONS)
    assert len(again) == 3
    assert again.search(vectors[1], 1)[0].tolist() == [2]
    assert len(again._require_contents().lance_table) == 3


def test_a_repeated_key_is_mended_when_compacting(table: VectorTable) -> None:
    table.add([1, 2, 3], some(3))
    table._require_contents().lance_table.add(np.array([2, 3]), some(2))
    table.compact()
    assert len(table._require_contents().lance_table) == len(table) == 3


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
