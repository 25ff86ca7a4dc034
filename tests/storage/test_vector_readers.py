"""Searches while another thread adds and compacts: never an error, never a row too few."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from codekernel.storage.vectors.quantization import FloatArray
from codekernel.storage.vectors.vector_table import VectorTable

DIMENSIONS = 64
SETTLED = 300
ADDS = 40
READERS = 3


def rows(count: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((count, DIMENSIONS)).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("exact_numbers", [10**9, DIMENSIONS * (SETTLED + 100), 0])
def test_readers_see_every_acknowledged_row_while_a_writer_adds_and_compacts(
    tmp_path: Path, exact_numbers: int
) -> None:
    table = VectorTable.open(tmp_path / "vectors", DIMENSIONS, max_exact_numbers=exact_numbers)
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
    table = VectorTable.open(tmp_path / "vectors", DIMENSIONS)
    table.add([1], rows(1, 0))
    with table._write_lock:
        assert table.search(rows(1, 0)[0], 1)[0].tolist() == [1]
        assert table.find_missing([1, 2]).tolist() == [2]
