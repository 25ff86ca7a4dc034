"""Vectors that all indexes of a userData folder share."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from codekernel.errors import StorageError
from codekernel.storage.vectors.in_memory_vectors import FloatArray, Int64Array, normalize_rows
from codekernel.storage.vectors.lance_table import HalfArray
from codekernel.storage.vectors.shared_vectors import (
    SharedVectors,
    open_shared_vectors,
    sweep_shared_vectors,
)

DIMENSIONS = 16
DAY = 24 * 60 * 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors" / "model.db"


def make_rows(count: int, seed: int = 1) -> tuple[Int64Array, FloatArray]:
    random = np.random.default_rng(seed)
    keys = random.integers(-(2**63), 2**63 - 1, count, dtype=np.int64)
    return keys, random.normal(size=(count, DIMENSIONS)).astype(np.float32)


def find_keys(path: Path, keys: Int64Array) -> set[int]:
    vectors = SharedVectors(path, DIMENSIONS)
    found, _ = vectors.find(keys)
    vectors.close()
    return set(found.tolist())


def fill(path: Path, count: int = 100) -> Int64Array:
    keys, numbers = make_rows(count)
    vectors = SharedVectors(path, DIMENSIONS)
    vectors.add(keys, numbers)
    vectors.close()
    return keys


def test_what_was_added_is_found_under_its_key_and_nothing_else(path: Path) -> None:
    keys, numbers = make_rows(3_000)
    vectors = SharedVectors(path, DIMENSIONS)
    vectors.add(keys[:2_000], numbers[:2_000])
    found, rows = vectors.find(keys)
    vectors.close()
    assert set(found.tolist()) == set(keys[:2_000].tolist())
    place = {int(key): number for number, key in enumerate(keys)}
    wanted = normalize_rows(numbers[[place[int(key)] for key in found]])
    assert np.abs(rows - wanted).max() < 0.001  # half precision


def test_the_files_are_readable_by_their_owner_alone(path: Path) -> None:
    fill(path)
    assert path.parent.stat().st_mode & 0o077 == 0
    assert all(each.stat().st_mode & 0o077 == 0 for each in path.parent.iterdir())


def test_a_row_whose_bytes_have_changed_is_not_found_and_can_be_added_again(path: Path) -> None:
    keys = fill(path)
    with closing(sqlite3.connect(path)) as database:
        statement = "UPDATE vector SET numbers = zeroblob(length(numbers)) WHERE key = ?"
        database.execute(statement, (int(keys[7]),))
        database.execute("UPDATE vector SET numbers = x'00' WHERE key = ?", (int(keys[8]),))
        database.commit()
    assert find_keys(path, keys) == set(keys.tolist()) - {int(keys[7]), int(keys[8])}
    fill(path)
    assert find_keys(path, keys) == set(keys.tolist())


@pytest.mark.parametrize("where", [0, 100, 4096, 8192])
def test_a_damaged_file_is_moved_aside_and_begun_again(path: Path, where: int) -> None:
    keys = fill(path, 500)
    content = bytearray(path.read_bytes())
    content[where : where + 2_000] = os.urandom(2_000)
    path.write_bytes(content)
    assert find_keys(path, keys) <= set(keys.tolist())
    fill(path, 500)
    assert find_keys(path, keys) == set(keys.tolist())


def test_a_pipe_in_its_place_blocks_nobody(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    keys = fill(path)
    assert find_keys(path, keys) == set(keys.tolist())


def test_a_folder_that_cannot_be_written_means_no_vectors_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("in the way", encoding="utf-8")
    path = tmp_path / "vectors" / "model.db"
    keys = fill(path)
    assert find_keys(path, keys) == set()


def test_many_writers_at_once_lose_nothing(path: Path) -> None:
    parts = [make_rows(300, seed) for seed in range(6)]
    errors: list[BaseException] = []

    def write(keys: Int64Array, numbers: FloatArray) -> None:
        try:
            vectors = SharedVectors(path, DIMENSIONS)
            for start in range(0, len(keys), 20):
                vectors.add(keys[start : start + 20], numbers[start : start + 20])
            vectors.close()
        except BaseException as error:  # noqa: BLE001 - of another thread
            errors.append(error)

    threads = [threading.Thread(target=write, args=part) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = np.concatenate([keys for keys, _ in parts])
    assert errors == []
    assert find_keys(path, keys) == set(keys.tolist())


def test_a_table_is_copied_once(path: Path) -> None:
    keys, numbers = make_rows(10)
    half = normalize_rows(numbers).astype(np.float16)
    vectors = SharedVectors(path, DIMENSIONS)
    vectors.copy_once("1/model", lambda: iter([(keys, half)]))

    def fail() -> Iterator[tuple[Int64Array, HalfArray]]:
        raise AssertionError("it was copied")

    vectors.copy_once("1/model", fail)
    vectors.close()
    assert find_keys(path, keys) == set(keys.tolist())


def test_what_no_index_uses_is_deleted_when_it_has_been_unused_for_long_enough(
    path: Path,
) -> None:
    keys = fill(path)
    now = 1_800_000_000.0
    sweep = partial(sweep_shared_vectors, path, clock=lambda: now)
    assert sweep(keys[:50], 30 * DAY) == 0
    now += 20 * DAY
    assert sweep(keys[:60], 30 * DAY) == 0  # ten are used again
    now += 11 * DAY
    would = sweep(keys[:50], 30 * DAY, dry_run=True)
    assert would == 40 * 2 * DIMENSIONS
    assert find_keys(path, keys) == set(keys.tolist())
    assert sweep(keys[:50], 30 * DAY) == would
    assert find_keys(path, keys) == set(keys[:60].tolist())
    assert sweep(keys[:0], 0) == 60 * 2 * DIMENSIONS
    assert find_keys(path, keys) == set()


def test_deleted_vectors_leave_the_disk(path: Path) -> None:
    keys = fill(path, 20_000)
    before = path.stat().st_size
    sweep_shared_vectors(path, keys[:100], 0)
    assert path.stat().st_size < before / 10


def test_a_damaged_file_is_not_swept(path: Path) -> None:
    fill(path)
    path.write_bytes(b"noise" * 1000)
    with pytest.raises(StorageError):
        sweep_shared_vectors(path, np.empty(0, np.int64), 0)


def test_a_file_of_another_format_is_begun_again(path: Path) -> None:
    keys = fill(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")
    with closing(open_shared_vectors(path)) as database:
        assert database.execute("SELECT count(*) FROM vector").fetchone() == (0,)
    assert find_keys(path, keys) == set()
