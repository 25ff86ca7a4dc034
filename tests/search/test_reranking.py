import pytest
from codekernel.domain.index import Signal
from codekernel.search.query_parser import parse_query
from codekernel.search.ranking import RankedChunk
from codekernel.search.reranking import (
    MAX_RERANKED_FILES,
    blend_reranker_scores,
    compute_rank_correlation,
    select_for_reranker,
)
from support.indexed_chunks import indexed_chunk

QUESTION = parse_query("where is a request sent again after a pause")


def ranked(count: int, chunks_per_file: int = 1) -> list[RankedChunk]:
    return [
        RankedChunk(
            indexed_chunk(f"{number // chunks_per_file}.py", number),
            1.0 - number / (20 * count),
            {},
        )
        for number in range(count)
    ]


def blend(count: int, scores: list[float]) -> list[int]:
    found = ranked(count)
    return order(blend_reranker_scores(found, select_for_reranker(QUESTION, found), scores))


def order(found: list[RankedChunk]) -> list[int]:
    return [each.chunk.id for each in found]


def test_the_best_chunk_of_each_of_the_first_files_is_read() -> None:
    found = ranked(4 * MAX_RERANKED_FILES, chunks_per_file=3)
    assert order(select_for_reranker(QUESTION, found)) == [
        3 * number for number in range(MAX_RERANKED_FILES)
    ]


@pytest.mark.parametrize("text", ["Session", "src/app.py:12", "read_config()"])
def test_a_name_or_a_place_is_found_without_being_read(text: str) -> None:
    assert select_for_reranker(parse_query(text), ranked(5)) == []


def test_one_file_needs_no_reading() -> None:
    assert select_for_reranker(QUESTION, ranked(3, chunks_per_file=3)) == []


def test_a_reranker_that_agrees_moves_what_it_likes_better() -> None:
    scores = [1 - number / 10 for number in range(MAX_RERANKED_FILES)]
    scores[3] = 0.99
    assert blend(MAX_RERANKED_FILES, scores).index(3) < 3


def test_it_moves_every_chunk_of_its_file() -> None:
    found = ranked(9, chunks_per_file=3)
    read = select_for_reranker(QUESTION, found)
    assert order(blend_reranker_scores(found, read, [0.7, 0.01, 0.6])) == [
        0,
        1,
        2,
        6,
        7,
        8,
        3,
        4,
        5,
    ]


def test_the_surer_it_is_the_more_it_moves() -> None:
    first, unsure = ranked(3), ranked(3)
    sure = blend_reranker_scores(first, select_for_reranker(QUESTION, first), [0.9, 0.1, 0.01])
    little = blend_reranker_scores(unsure, select_for_reranker(QUESTION, unsure), [0.6, 0.5, 0.4])
    assert sure[0].signals[Signal.RERANKER] > little[0].signals[Signal.RERANKER] > 0
    for each in sure:
        gained = each.signals.get(Signal.RERANKER, 0.0)
        assert each.score == pytest.approx(1.0 - each.chunk.id / 60 + gained)


def test_a_reranker_that_disagrees_with_everything_is_ignored() -> None:
    assert blend(MAX_RERANKED_FILES, [number / 10 for number in range(MAX_RERANKED_FILES)]) == list(
        range(MAX_RERANKED_FILES)
    )


@pytest.mark.parametrize("most", [1.0, 0.999999, 0.9])
def test_however_sure_it_moves_nothing_far(most: float) -> None:
    found = [
        each._replace(score=1.0 - each.chunk.id / MAX_RERANKED_FILES)
        for each in ranked(MAX_RERANKED_FILES)
    ]
    blended = blend_reranker_scores(
        found, select_for_reranker(QUESTION, found), [most, 0.0, 0.0, most, 0.0, 0.0]
    )
    assert order(blended) == list(range(MAX_RERANKED_FILES))


def test_what_the_reranker_did_not_read_stays_behind_what_it_read() -> None:
    scores = [1 - number / 10 for number in range(MAX_RERANKED_FILES)]
    assert blend(20, scores)[MAX_RERANKED_FILES:] == list(range(MAX_RERANKED_FILES, 20))


def test_equal_scores_change_nothing() -> None:
    assert blend(5, [0.5] * 5) == list(range(5))


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
    assert compute_rank_correlation(one, other) == pytest.approx(expected)
