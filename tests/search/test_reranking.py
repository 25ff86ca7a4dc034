import random

import pytest

from kernel.domain.chunk import Chunk
from kernel.domain.indexed import IndexedChunk
from kernel.search.ranking import Ranked
from kernel.search.reranking import blend, correlation


def ranked(count: int) -> list[Ranked]:
    return [
        Ranked(
            IndexedChunk(number, f"{number}.py", "python", 750, number, Chunk(0, 1, 0, 1)),
            1.0 - number / (2 * count),
        )
        for number in range(count)
    ]


def order(found: list[Ranked]) -> list[int]:
    return [each.chunk.id for each in found]


def test_a_reranker_that_agrees_moves_what_it_likes_better() -> None:
    opinions = [1 - number / 10 for number in range(10)]
    opinions[3] = 0.95
    assert order(blend(ranked(10), opinions)).index(3) < 3


def test_a_reranker_that_disagrees_with_everything_is_not_heard() -> None:
    opinions = [number / 10 for number in range(10)]
    assert order(blend(ranked(10), opinions)) == list(range(10))


def test_chance_is_hardly_ever_heard() -> None:
    chance = random.Random(7)  # noqa: S311 - not for secrets
    heard = sum(
        order(blend(ranked(30), [chance.random() for _ in range(30)])) != list(range(30))
        for _ in range(400)
    )
    assert heard < 40


def test_what_the_reranker_did_not_read_stays_behind_what_it_read() -> None:
    opinions = [1 - number / 10 for number in range(10)]
    assert order(blend(ranked(20), opinions))[10:] == list(range(10, 20))


def test_equal_opinions_change_nothing() -> None:
    assert order(blend(ranked(5), [0.5] * 5)) == list(range(5))
    assert blend([], []) == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([1, 2], [1, 1], 0.0),
        ([1], [1], 0.0),
    ],
)
def test_correlation_is_spearmans(one: list[float], other: list[float], expected: float) -> None:
    assert correlation(one, other) == pytest.approx(expected)
