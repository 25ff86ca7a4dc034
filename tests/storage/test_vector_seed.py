"""Vectors that came as a file are searched at once, and become a table later."""

from pathlib import Path

import numpy as np
import pytest
from codekernel.storage.vectors import vector_seed
from codekernel.storage.vectors.in_memory_vectors import round_rows
from codekernel.storage.vectors.vector_seed import (
    SeedVectors,
    get_seed_path,
    has_seed,
    read_seed,
    write_seed,
)
from codekernel.storage.vectors.vector_table import VectorTable

DIMENSIONS = 8
RANDOM = np.random.default_rng(5)
ROWS = round_rows(RANDOM.standard_normal((40, DIMENSIONS)).astype(np.float32))
KEYS = np.arange(100, 140)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "vectors" / "model-300"
    write_seed(place, SeedVectors(KEYS, ROWS))
    return place


def search(table: VectorTable, row: int) -> int:
    keys, _ = table.search(ROWS[row].astype(np.float32), 1)
    return int(keys[0])


def test_a_seed_is_searched_without_a_table(folder: Path) -> None:
    table = VectorTable.open(folder, DIMENSIONS)
    assert [search(table, row) for row in (0, 7, 39)] == [100, 107, 139]
    table.close()
    assert not folder.exists()


def test_a_few_rows_are_added_to_the_seed(folder: Path) -> None:
    table = VectorTable.open(folder, DIMENSIONS)
    table.add([1, 100], -ROWS[:2])
    table.close()
    assert not folder.exists()
    again = VectorTable.open(folder, DIMENSIONS)
    assert len(again) == 41
    assert search(again, 0) == 100
    again.close()


def test_compaction_makes_the_table(folder: Path) -> None:
    table = VectorTable.open(folder, DIMENSIONS)
    table.add([1], -ROWS[:1])
    assert table.needs_compaction
    table.compact()
    assert not has_seed(folder)
    table.add([2], ROWS[1:2])
    table.close()
    again = VectorTable.open(folder, DIMENSIONS)
    assert len(again) == 42
    assert {search(again, row) for row in range(2, 40)} == set(range(102, 140))
    again.close()


def test_a_large_seed_becomes_a_table_with_the_first_addition(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_seed, "MAX_EXTENDED_BYTES", 100)
    table = VectorTable.open(folder, DIMENSIONS)
    table.add([1], -ROWS[:1])
    assert not has_seed(folder)
    assert len(table) == 41
    table.close()


def test_what_a_kill_left_of_the_table_does_not_count(folder: Path) -> None:
    folder.mkdir()
    (folder / "half").write_bytes(b"x")
    table = VectorTable.open(folder, DIMENSIONS)
    table.compact()
    assert len(table) == 40
    assert not (folder / "half").exists()
    table.close()


@pytest.mark.parametrize("at", [0, 9, 20, 60, -1])
def test_a_damaged_seed_is_not_used(folder: Path, at: int) -> None:
    path = get_seed_path(folder)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    assert read_seed(folder, DIMENSIONS) is None
    assert not has_seed(folder)


def test_a_seed_of_another_model_is_not_used(folder: Path) -> None:
    assert read_seed(folder, DIMENSIONS + 1) is None
