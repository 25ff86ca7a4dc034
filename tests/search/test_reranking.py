import pytest
from codekernel.domain.index import Chunk, IndexedChunk
from codekernel.search.query_parser import parse_query
from codekernel.search.ranking import (
    MAX_RERANKED_FILES,
    RankedChunk,
    blend_reranker_scores,
    compute_rank_correlation,
    select_for_reranker,
)

QUESTION = parse_query("where is a request sent again after a pause")


def ranked(count: int, chunks_of_a_file: int = 1) -> list[RankedChunk]:
    return [
        RankedChunk(
            IndexedChunk(
                number, f"{number // chunks_of_a_file}.py", "python", 750, number, Chunk(0, 1, 0, 1)
            ),
            1.0 - number / (20 * count),
        )
        for number in range(count)
    ]


def blended(count: int, opinions: list[float]) -> list[int]:
    found = ranked(count)
    return order(blend_reranker_scores(found, select_for_reranker(QUESTION, found), opinions))


def order(found: list[RankedChunk]) -> list[int]:
    return [each.chunk.id for each in found]


def test_the_best_chunk_of_each_of_the_first_files_is_read() -> None:
    found = ranked(4 * MAX_RERANKED_FILES, chunks_of_a_file=3)
    assert order(select_for_reranker(QUESTION, found)) == [
        3 * number for number in range(MAX_RERANKED_FILES)
    ]


@pytest.mark.parametrize("text", ["Session", "src/app.py:12", "read_config()"])
def test_a_name_or_a_place_is_found_without_being_read(text: str) -> None:
    assert select_for_reranker(parse_query(text), ranked(5)) == []


def test_one_file_needs_no_reading() -> None:
    assert select_for_reranker(QUESTION, ranked(3, chunks_of_a_file=3)) == []


def test_a_reranker_that_agrees_moves_what_it_likes_better() -> None:
    opinions = [1 - number / 10 for number in range(MAX_RERANKED_FILES)]
    opinions[3] = 0.99
    assert blended(MAX_RERANKED_FILES, opinions).index(3) < 3


def test_it_speaks_for_all_chunks_of_a_file() -> None:
    found = ranked(9, chunks_of_a_file=3)
    heard = select_for_reranker(QUESTION, found)
    assert order(blend_reranker_scores(found, heard, [0.7, 0.01, 0.6])) == [
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
    assert sure[0].signals["reranker"] > little[0].signals["reranker"] > 0
    for each in sure:
        gained = each.signals.get("reranker", 0.0)
        assert each.score == pytest.approx(1.0 - each.chunk.id / 60 + gained)


def test_a_reranker_that_disagrees_with_everything_is_not_heard() -> None:
    assert blended(
        MAX_RERANKED_FILES, [number / 10 for number in range(MAX_RERANKED_FILES)]
    ) == list(range(MAX_RERANKED_FILES))


@pytest.mark.parametrize("most", [1.0, 0.999999, 0.9])
def test_however_loud_it_moves_nothing_far(most: float) -> None:
    found = ranked(MAX_RERANKED_FILES)
    for each in found:
        each.score = 1.0 - each.chunk.id / MAX_RERANKED_FILES
    loved = blend_reranker_scores(
        found, select_for_reranker(QUESTION, found), [most, 0.0, 0.0, most, 0.0, 0.0]
    )
    assert order(loved) == list(range(MAX_RERANKED_FILES))


def test_what_the_reranker_did_not_read_stays_behind_what_it_read() -> None:
    opinions = [1 - number / 10 for number in range(MAX_RERANKED_FILES)]
    assert blended(20, opinions)[MAX_RERANKED_FILES:] == list(range(MAX_RERANKED_FILES, 20))


def test_equal_opinions_change_nothing() -> None:
    assert blended(5, [0.5] * 5) == list(range(5))


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
