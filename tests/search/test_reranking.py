import pytest

from kernel.domain.chunk import Chunk
from kernel.domain.indexed import IndexedChunk
from kernel.search.query import understood
from kernel.search.ranking import Ranked
from kernel.search.reranking import FILES, blend, correlation, to_read

QUESTION = understood("where is a request sent again after a pause")


def ranked(count: int, chunks_of_a_file: int = 1) -> list[Ranked]:
    return [
        Ranked(
            IndexedChunk(
                number, f"{number // chunks_of_a_file}.py", "python", 750, number, Chunk(0, 1, 0, 1)
            ),
            1.0 - number / (20 * count),
        )
        for number in range(count)
    ]


def blended(count: int, opinions: list[float]) -> list[int]:
    found = ranked(count)
    return order(blend(found, to_read(QUESTION, found), opinions))


def order(found: list[Ranked]) -> list[int]:
    return [each.chunk.id for each in found]


def test_the_best_chunk_of_each_of_the_first_files_is_read() -> None:
    found = ranked(4 * FILES, chunks_of_a_file=3)
    assert order(to_read(QUESTION, found)) == [3 * number for number in range(FILES)]


@pytest.mark.parametrize("text", ["Session", "src/app.py:12", "read_config()"])
def test_a_name_or_a_place_is_found_without_being_read(text: str) -> None:
    assert to_read(understood(text), ranked(5)) == []


def test_one_file_needs_no_reading() -> None:
    assert to_read(QUESTION, ranked(3, chunks_of_a_file=3)) == []


def test_a_reranker_that_agrees_moves_what_it_likes_better() -> None:
    opinions = [1 - number / 10 for number in range(FILES)]
    opinions[3] = 0.99
    assert blended(FILES, opinions).index(3) < 3


def test_it_speaks_for_all_chunks_of_a_file() -> None:
    found = ranked(9, chunks_of_a_file=3)
    heard = to_read(QUESTION, found)
    assert order(blend(found, heard, [0.7, 0.01, 0.6])) == [0, 1, 2, 6, 7, 8, 3, 4, 5]


def test_the_surer_it_is_the_more_it_moves() -> None:
    first, unsure = ranked(3), ranked(3)
    sure = blend(first, to_read(QUESTION, first), [0.9, 0.1, 0.01])
    little = blend(unsure, to_read(QUESTION, unsure), [0.6, 0.5, 0.4])
    assert sure[0].signals["reranker"] > little[0].signals["reranker"] > 0
    for each in sure:
        gained = each.signals.get("reranker", 0.0)
        assert each.score == pytest.approx(1.0 - each.chunk.id / 60 + gained)


def test_a_reranker_that_disagrees_with_everything_is_not_heard() -> None:
    assert blended(FILES, [number / 10 for number in range(FILES)]) == list(range(FILES))


@pytest.mark.parametrize("most", [1.0, 0.999999, 0.9])
def test_however_loud_it_moves_nothing_far(most: float) -> None:
    found = ranked(FILES)
    for each in found:
        each.score = 1.0 - each.chunk.id / FILES
    loved = blend(found, to_read(QUESTION, found), [most, 0.0, 0.0, most, 0.0, 0.0])
    assert order(loved) == list(range(FILES))


def test_what_the_reranker_did_not_read_stays_behind_what_it_read() -> None:
    opinions = [1 - number / 10 for number in range(FILES)]
    assert blended(20, opinions)[FILES:] == list(range(FILES, 20))


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
    assert correlation(one, other) == pytest.approx(expected)
