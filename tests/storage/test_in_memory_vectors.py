"""Candidates by sign: the fewest differences, whatever a sample of the rows says."""

import numpy as np
import pytest
from codekernel.storage.vectors.in_memory_vectors import (
    BLOCK_ROWS,
    MAX_RECENT_KEYS,
    SAMPLE_STEP,
    InMemoryVectors,
    VectorKeySet,
    _select_smallest,
    dequantize,
    normalize_rows,
    quantize,
)
from hypothesis import given
from hypothesis import strategies as st

ROWS = 10_000


def _sorted_first(differences: np.ndarray, wanted: int) -> list[int]:
    return sorted(np.argsort(differences, kind="stable")[:wanted].tolist())


@pytest.mark.parametrize("wanted", [1, 7, 400, 4_000, ROWS - 1, ROWS, ROWS + 5])
def test_the_rows_with_the_fewest_differences_are_chosen_and_of_equals_the_first(
    wanted: int,
) -> None:
    differences = np.random.default_rng(3).binomial(256, 0.5, ROWS).astype(np.uint16)

    assert _select_smallest(differences, wanted).tolist() == _sorted_first(differences, wanted)


def test_rows_that_are_all_alike_give_the_first_ones() -> None:
    assert _select_smallest(np.full(ROWS, 9, np.uint16), 50).tolist() == list(range(50))


def test_a_sample_that_holds_only_the_nearest_rows_does_not_hide_the_others() -> None:
    differences = np.full(ROWS, 100, np.uint16)
    differences[::SAMPLE_STEP] = 3
    wanted = 2 * len(differences[::SAMPLE_STEP])

    assert _select_smallest(differences, wanted).tolist() == _sorted_first(differences, wanted)


def test_a_sample_that_holds_only_far_rows_does_not_hide_the_nearest() -> None:
    differences = np.full(ROWS, 3, np.uint16)
    differences[::SAMPLE_STEP] = 200

    assert _select_smallest(differences, 500).tolist() == _sorted_first(differences, 500)


@pytest.mark.parametrize("dimensions", [1, 3, 63, 64, 65, 256, 384, 1024])
def test_a_coded_row_has_a_cosine_of_one_with_itself(dimensions: int) -> None:
    rows = normalize_rows(np.random.default_rng(1).standard_normal((20, dimensions)))
    codes = quantize(rows)
    decoded = dequantize(codes, dimensions)
    assert decoded.shape == rows.shape
    own = np.einsum("ij,ij->i", decoded, rows) * codes.scale
    assert own == pytest.approx(np.ones(20), abs=1e-5)
    assert np.array_equal(decoded > 0, rows > 0)


@pytest.mark.slow
def test_coded_cosines_are_close_and_the_best_ten_are_found() -> None:
    generator = np.random.default_rng(2)
    centres = generator.standard_normal((200, 256))
    vectors = centres[generator.integers(0, 200, 20_000)] + generator.standard_normal((20_000, 256))
    keys = np.arange(20_000)
    whole, coded = InMemoryVectors(256), InMemoryVectors(256, max_exact_numbers=0)
    whole.append(keys, vectors)
    coded.append(keys, vectors)
    assert whole.is_exact
    assert not coded.is_exact
    found = 0
    for query in vectors[:50]:
        best, cosines = whole.find_nearest(query, 10)
        likely, estimates = coded.find_nearest(query, 15)
        found += len(set(best.tolist()) & set(likely.tolist()))
        assert np.abs(cosines - estimates[:10]).max() < 0.02
    assert found >= 0.97 * 500


def test_rows_are_encoded_when_they_become_many_and_stay_findable() -> None:
    vectors = np.random.default_rng(3).standard_normal((BLOCK_ROWS + 900, 32)).astype(np.float32)
    resident = InMemoryVectors(32, max_exact_numbers=32 * (BLOCK_ROWS + 500))
    for start in range(0, len(vectors), 700):
        part = vectors[start : start + 700]
        resident.append(np.arange(start, start + len(part)), part)
    assert not resident.is_exact
    assert len(resident) == len(vectors)
    for row in (0, 699, BLOCK_ROWS - 1, BLOCK_ROWS, len(vectors) - 1):
        assert resident.find_nearest(vectors[row], 1)[0].tolist() == [row]


def test_rows_that_are_all_alike_are_no_trouble() -> None:
    resident = InMemoryVectors(64, max_exact_numbers=0)
    resident.append(np.arange(20_000), np.ones((20_000, 64), np.float32))
    keys, cosines = resident.find_nearest(np.ones(64, np.float32), 25)
    assert len(set(keys.tolist())) == 25
    assert cosines == pytest.approx(np.ones(25))


def test_a_row_without_direction_has_a_coded_cosine_of_zero() -> None:
    resident = InMemoryVectors(64, max_exact_numbers=0)
    resident.append(np.arange(3), np.array([[0.0] * 64, [np.nan] * 64, [1.0] * 64]))
    keys, cosines = resident.find_nearest(np.ones(64, np.float32), 3)
    assert keys[0] == 2
    assert cosines[1:].tolist() == [0, 0]


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), max_size=6))
def test_a_set_of_keys_holds_what_was_added(batches: list[list[int]]) -> None:
    keys = VectorKeySet(np.empty(0, np.int64))
    expected: set[int] = set()
    for batch in batches:
        fresh = sorted(set(batch) - expected)
        keys.add(np.array(fresh, np.int64))
        expected |= set(fresh)
    assert len(keys) == len(expected)
    assert set(keys.to_array().tolist()) == expected
    asked = np.array([*expected, 12345], np.int64)
    assert keys.contains(asked).tolist() == [key in expected for key in asked.tolist()]


def test_many_recent_keys_are_settled() -> None:
    keys = VectorKeySet(np.arange(10))
    keys.add(np.arange(10, 10 + MAX_RECENT_KEYS))
    keys.add(np.arange(10 + MAX_RECENT_KEYS, 20 + 2 * MAX_RECENT_KEYS))
    assert len(keys) == 20 + 2 * MAX_RECENT_KEYS
    assert keys.contains(np.arange(20 + 2 * MAX_RECENT_KEYS)).all()
    assert not keys.contains(np.array([-1, 20 + 2 * MAX_RECENT_KEYS])).any()
