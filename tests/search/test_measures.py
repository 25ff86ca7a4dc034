import math

import pytest

from kernel.search.measures import Measures, difference, mean, measured


def test_a_file_counts_where_its_first_chunk_stands() -> None:
    found = measured(["b", "a", "a"], {"a"})
    assert found == Measures(1 / math.log2(3), 1.0, 0.5, 0.0)


def test_all_wanted_files_on_top_are_perfect() -> None:
    assert measured(["a", "b", "c"], {"a", "b"}) == Measures(1.0, 1.0, 1.0, 1.0)


def test_nothing_found_is_nothing() -> None:
    assert measured(["c"] * 10 + ["a"], {"a"}) == Measures(0.0, 0.0, 0.0, 0.0)
    assert measured([], {"a"}) == measured(["a"], set()) == mean([])


def test_means_are_taken_of_each_figure() -> None:
    both = mean([Measures(1.0, 1.0, 1.0, 1.0), Measures(0.0, 0.5, 0.5, 0.0)])
    assert both == Measures(0.5, 0.75, 0.75, 0.5)


def test_a_difference_that_every_question_shows_is_no_noise() -> None:
    found = difference([0.2, 0.4, 0.3] * 20, [0.3, 0.5, 0.4] * 20)
    assert found.mean == pytest.approx(0.1)
    assert not found.is_noise


def test_a_difference_that_comes_and_goes_is_noise() -> None:
    found = difference([0.0, 1.0] * 20, [1.0, 0.0] * 19 + [1.0, 1.0])
    assert found.low < 0 < found.high
    assert found.is_noise
    assert difference([], []).is_noise


def test_the_same_figures_give_the_same_interval() -> None:
    before, after = [0.1, 0.5, 0.9] * 10, [0.2, 0.4, 0.9] * 10
    assert difference(before, after) == difference(before, after)
