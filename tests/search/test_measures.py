import math

import pytest
from codekernel.search.evaluation import (
    RetrievalMetrics,
    average_metrics,
    compute_difference,
    compute_metrics,
)


def test_a_file_counts_where_its_first_chunk_stands() -> None:
    found = compute_metrics(["b", "a", "a"], {"a"})
    assert found == RetrievalMetrics(1 / math.log2(3), 1.0, 0.5, 0.0)


def test_all_wanted_files_on_top_are_perfect() -> None:
    assert compute_metrics(["a", "b", "c"], {"a", "b"}) == RetrievalMetrics(1.0, 1.0, 1.0, 1.0)


def test_nothing_found_is_nothing() -> None:
    assert compute_metrics(["c"] * 10 + ["a"], {"a"}) == RetrievalMetrics(0.0, 0.0, 0.0, 0.0)
    assert compute_metrics([], {"a"}) == compute_metrics(["a"], set()) == average_metrics([])


def test_means_are_taken_of_each_figure() -> None:
    both = average_metrics(
        [RetrievalMetrics(1.0, 1.0, 1.0, 1.0), RetrievalMetrics(0.0, 0.5, 0.5, 0.0)]
    )
    assert both == RetrievalMetrics(0.5, 0.75, 0.75, 0.5)


def test_a_difference_that_every_question_shows_is_no_noise() -> None:
    found = compute_difference([0.2, 0.4, 0.3] * 20, [0.3, 0.5, 0.4] * 20)
    assert found.mean == pytest.approx(0.1)
    assert not found.is_noise


def test_a_difference_that_comes_and_goes_is_noise() -> None:
    found = compute_difference([0.0, 1.0] * 20, [1.0, 0.0] * 19 + [1.0, 1.0])
    assert found.low < 0 < found.high
    assert found.is_noise
    assert compute_difference([], []).is_noise


def test_the_same_figures_give_the_same_interval() -> None:
    before, after = [0.1, 0.5, 0.9] * 10, [0.2, 0.4, 0.9] * 10
    assert compute_difference(before, after) == compute_difference(before, after)
