"""Candidates by sign: the fewest differences, whatever a sample of the rows says."""

import numpy as np
import pytest
from codekernel.storage.vectors.in_memory_vectors import SAMPLE_STEP, _select_smallest

ROWS = 10_000


def _sorted_first(differences: np.ndarray, wanted: int) -> list[int]:  # type: ignore[type-arg]
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
