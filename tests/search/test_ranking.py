from collections.abc import Sequence
from dataclasses import replace

import pytest
from codekernel.domain.index import Signal
from codekernel.search.query_parser import QueryKind
from codekernel.search.ranking import (
    MAX_RERANKED_CHARS,
    MAX_RERANKED_FILES,
    MIN_RERANKED_FILES,
    SEMANTIC_WEIGHT,
    SEMANTIC_WEIGHT_OF_UNNAMED,
    RankedChunk,
    add_evidence,
    compute_rank_correlation,
    fuse_rankings,
    fuse_scores,
    select_for_reranker,
    weigh_cosines,
    weigh_probabilities,
)
from codekernel.search.retrieval import Candidates
from support.indexed_chunks import indexed_chunk


def ranked(path: str, score: float, semantic: float = 0.0) -> RankedChunk:
    signals = {Signal.LEXICAL: score - semantic, Signal.SEMANTIC: semantic}
    return RankedChunk(indexed_chunk(path), score, signals)


def paths(given: Sequence[RankedChunk]) -> list[str]:
    return [each.chunk.path for each in given]


def ranked_files(count: int, chunks_per_file: int = 1) -> list[RankedChunk]:
    return [
        RankedChunk(
            indexed_chunk(f"{number // chunks_per_file}.py", number),
            1.0 - number / (20 * count),
            {},
        )
        for number in range(count)
    ]


def blend(count: int, scores: list[float]) -> list[int]:
    found = ranked_files(count)
    return order(add_probabilities(found, scores))


def add_probabilities(found: list[RankedChunk], scores: list[float]) -> list[RankedChunk]:
    return add_evidence(found, select_for_reranker(found), weigh_probabilities(scores))


def order(found: list[RankedChunk]) -> list[int]:
    return [each.chunk.id for each in found]


def test_a_candidate_has_what_both_lists_say_of_it() -> None:
    candidates = Candidates(
        lexical=[(1, 2.0)],
        semantic=[[(2, 0.9), (3, 0.5)]],
        lexical_scores={1: 2.0, 2: 1.0},
        cosines=[{1: 0.4, 2: 0.9, 3: 0.5, 4: -1.0}],
        contextual=[False],
        mentioned=[],
        chunks={number: indexed_chunk(f"{number}.py", number) for number in (1, 2, 3, 4, 5)},
        embedded_hashes=frozenset(),
    )
    fused = fuse_scores(candidates, QueryKind.PROSE)
    words, meaning = fused[1][0], fused[2][1]
    assert fused[2] == pytest.approx((words / 2, meaning))
    assert fused[1] == pytest.approx((words, -meaning / 4))  # below the last of the nearest
    assert fused[3] == fused[5] == pytest.approx((0, 0))  # the last of them, and one without vector
    assert fused[4] == pytest.approx((0, -meaning / 2))


def fuse_opposites(
    models: str, kind: QueryKind = QueryKind.PROSE, *, is_unnamed: bool = True
) -> tuple[float, ...]:
    """Return the semantic scores of chunks of which each is the nearest to one config alone."""
    contextual = [each == "contextual" for each in models.split()]
    numbers = range(len(contextual))
    candidates = Candidates(
        lexical=[],
        semantic=[
            [(own, 0.9), *((each, 0.5) for each in numbers if each != own)] for own in numbers
        ],
        lexical_scores={},
        cosines=[{each: 0.9 if each == own else 0.5 for each in numbers} for own in numbers],
        contextual=contextual,
        mentioned=[],
        chunks={number: indexed_chunk(f"{number}.py", number) for number in numbers},
        embedded_hashes=frozenset(),
    )
    fused = fuse_scores(candidates, kind, is_unnamed=is_unnamed)
    return tuple(fused[number][1] for number in numbers)


@pytest.mark.parametrize("is_unnamed", [False, True])
def test_a_contextual_model_is_louder_than_static_ones_in_whatever_order(
    *, is_unnamed: bool
) -> None:
    static, contextual = fuse_opposites("static contextual", is_unnamed=is_unnamed)
    assert contextual > 2 * static > 0
    assert fuse_opposites("contextual static", is_unnamed=is_unnamed) == (contextual, static)
    one, other, last = fuse_opposites("static contextual static", is_unnamed=is_unnamed)
    assert one == last == pytest.approx(static / 2)
    assert other == pytest.approx(contextual)


def test_where_no_file_is_named_after_the_question_a_contextual_model_gains_weight() -> None:
    both, alone = fuse_opposites("static contextual"), fuse_opposites("contextual contextual")
    assert sum(both) == pytest.approx(sum(alone))
    assert sum(both) > sum(fuse_opposites("static static"))
    named = fuse_opposites("static contextual", is_unnamed=False)
    assert sum(named) == pytest.approx(SEMANTIC_WEIGHT[QueryKind.PROSE])


def test_static_models_alone_share_alike_what_they_had() -> None:
    assert fuse_opposites("static static") == (SEMANTIC_WEIGHT_OF_UNNAMED / 2,) * 2
    for kind, weight in SEMANTIC_WEIGHT.items():
        assert fuse_opposites("static static", kind=kind, is_unnamed=False) == (weight / 2,) * 2


@pytest.mark.parametrize("kind", [kind for kind in QueryKind if kind is not QueryKind.PROSE])
def test_a_contextual_model_is_not_louder_where_the_question_is_no_english_sentence(
    kind: QueryKind,
) -> None:
    assert fuse_opposites("static contextual", kind=kind, is_unnamed=False) == (
        SEMANTIC_WEIGHT[kind] / 2,
        SEMANTIC_WEIGHT[kind] / 2,
    )


@pytest.mark.parametrize("nearest", [[(1, 0.9)], [(1, 0.9), (2, 0.9)], [(1, 0.9), (2, 0.5)]])
def test_what_filters_took_away_has_no_score(nearest: list[tuple[int, float]]) -> None:
    candidates = Candidates(
        lexical=[],
        semantic=[nearest],
        lexical_scores={},
        cosines=[{2: 0.9}],
        contextual=[False],
        mentioned=[],
        chunks={2: indexed_chunk("2.py", 2)},
        embedded_hashes=frozenset(),
    )
    assert list(fuse_scores(candidates, QueryKind.PROSE)) == [2]


def test_the_best_chunk_of_each_of_the_first_files_is_read() -> None:
    found = ranked_files(4 * MAX_RERANKED_FILES, chunks_per_file=3)
    assert order(select_for_reranker(found)) == [3 * number for number in range(MAX_RERANKED_FILES)]


@pytest.mark.parametrize(
    ("chars", "files"), [(10_000, MIN_RERANKED_FILES), (MAX_RERANKED_CHARS // 20, 20)]
)
def test_more_files_are_read_while_all_of_it_is_short(chars: int, files: int) -> None:
    chunks = [(replace(each.chunk, begin=0, end=chars), each) for each in ranked_files(40)]
    found = [each._replace(chunk=chunk) for chunk, each in chunks]
    assert len(select_for_reranker(found)) == files


def test_nothing_is_weighed_for_nothing() -> None:
    assert weigh_cosines([]) == weigh_probabilities([]) == []


def test_an_embedding_model_moves_what_is_near_by_the_difference_of_the_cosines() -> None:
    found = [ranked("a.py", 1.0), ranked("b.py", 0.99), ranked("c.py", 0.5)]
    near = add_evidence(found, found, weigh_cosines([0.70, 0.75, 0.60]))
    assert paths(near) == ["b.py", "a.py", "c.py"]
    far = add_evidence(found, found, weigh_cosines([0.70, 0.65, 0.80]))
    assert paths(far) == ["a.py", "b.py", "c.py"]


def test_a_reranker_that_agrees_moves_what_it_likes_better() -> None:
    scores = [1 - number / 40 for number in range(MAX_RERANKED_FILES)]
    scores[3] = 0.99
    assert blend(MAX_RERANKED_FILES, scores).index(3) < 3


def test_it_moves_every_chunk_of_its_file() -> None:
    found = ranked_files(9, chunks_per_file=3)
    assert order(add_probabilities(found, [0.7, 0.01, 0.6])) == [
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
    first, unsure = ranked_files(3), ranked_files(3)
    sure = add_probabilities(first, [0.9, 0.1, 0.01])
    little = add_probabilities(unsure, [0.6, 0.5, 0.4])
    assert sure[0].signals[Signal.RERANKER] > little[0].signals[Signal.RERANKER] > 0
    for each in sure:
        gained = each.signals.get(Signal.RERANKER, 0.0)
        assert each.score == pytest.approx(1.0 - each.chunk.id / 60 + gained)


def test_a_reranker_that_disagrees_with_everything_is_ignored() -> None:
    assert blend(9, [number / 10 for number in range(9)]) == list(range(9))


@pytest.mark.parametrize("most", [1.0, 0.999999, 0.9])
def test_however_sure_it_moves_nothing_far(most: float) -> None:
    found = [
        each._replace(score=1.0 - each.chunk.id / MIN_RERANKED_FILES)
        for each in ranked_files(MIN_RERANKED_FILES)
    ]
    scores = [most, 0.0, 0.0, most, *[0.0] * (MIN_RERANKED_FILES - 4)]
    blended = add_probabilities(found, scores)
    assert order(blended) == list(range(MIN_RERANKED_FILES))


def test_what_the_reranker_did_not_read_stays_behind_what_it_read() -> None:
    scores = [1 - number / 40 for number in range(MAX_RERANKED_FILES)]
    assert blend(40, scores)[MAX_RERANKED_FILES:] == list(range(MAX_RERANKED_FILES, 40))


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


def numbered(number: int, path: str, score: float, semantic: float = 0.0) -> RankedChunk:
    return ranked(path, score, semantic)._replace(chunk=indexed_chunk(path, number))


def test_what_two_questions_agree_on_comes_before_what_one_of_them_finds_first() -> None:
    one = [numbered(1, "first.py", 2.0), numbered(2, "both.py", 1.8)]
    other = [numbered(3, "second.py", 8.0), numbered(2, "both.py", 7.6)]
    assert paths(fuse_rankings([one, other])) == ["both.py", "first.py", "second.py"]


def test_a_file_gains_by_each_question_although_other_chunks_of_it_answer() -> None:
    one = [numbered(1, "a.py", 1.0), numbered(2, "b.py", 0.9)]
    other = [numbered(3, "c.py", 1.0), numbered(4, "a.py", 0.9)]
    fused = fuse_rankings([one, other])
    assert paths(fused) == ["a.py", "c.py", "a.py", "b.py"]
    assert fused[0].score == pytest.approx(1.9)


def test_fused_signals_add_up_to_the_score() -> None:
    rankings = [
        [numbered(1, "a.py", 2.0, 0.5), numbered(2, "b.py", 1.0, 0.7)],
        [numbered(3, "b.py", 4.0, 1.0), numbered(4, "c.py", 1.0, 0.1)],
        [],
    ]
    fused = fuse_rankings(rankings)
    assert len(fused) == 4
    for each in fused:
        assert sum(each.signals.values()) == pytest.approx(each.score)
