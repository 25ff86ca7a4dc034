from collections.abc import Sequence

import pytest
from codekernel.domain.index import Signal
from codekernel.search.query_parser import parse_query
from codekernel.search.ranking import (
    MAX_REFINED_CHUNKS,
    MAX_RERANKED_FILES,
    PATH_SIMILARITY_BOOST,
    SEMANTIC_REFINE_BOOST,
    RankedChunk,
    blend_reranker_scores,
    compute_rank_correlation,
    describe_path,
    fuse_rankings,
    refine_semantically,
    select_for_reranker,
)
from support.indexed_chunks import indexed_chunk

QUESTION = parse_query("saving and loading models from disk")


def ranked(path: str, score: float, semantic: float = 0.0) -> RankedChunk:
    signals = {Signal.LEXICAL: score - semantic, Signal.SEMANTIC: semantic}
    return RankedChunk(indexed_chunk(path), score, signals)


def no_model(query: str, texts: Sequence[str]) -> list[float]:
    return []


def paths(given: Sequence[RankedChunk]) -> list[str]:
    return [each.chunk.path for each in given]


def test_of_two_nearly_equal_chunks_the_nearer_one_comes_first() -> None:
    found = [ranked("a.py", 1.0, 0.1), ranked("b.py", 0.95, 0.4)]
    assert paths(refine_semantically(QUESTION, found, no_model)) == ["b.py", "a.py"]


def test_a_chunk_that_is_clearly_better_stays_first() -> None:
    found = [
        ranked("a.py", 1.0, 0.0),
        ranked("b.py", 1 - SEMANTIC_REFINE_BOOST - PATH_SIMILARITY_BOOST - 0.01, 0.4),
    ]
    assert paths(refine_semantically(QUESTION, found, lambda *_: [0.0, 1.0])) == ["a.py", "b.py"]


def test_a_path_that_means_what_was_asked_boosts_its_file() -> None:
    found = [ranked("model.py", 1.0), ranked("persistence/hf.py", 0.95)]
    asked: list[str] = []

    def compute_similarities(query: str, texts: Sequence[str]) -> list[float]:
        asked.append(query)
        return [0.8 if "persistence" in text else 0.2 for text in texts]

    assert paths(refine_semantically(QUESTION, found, compute_similarities)) == [
        "persistence/hf.py",
        "model.py",
    ]
    assert asked == [QUESTION.semantic_query]


def test_each_path_is_asked_for_once() -> None:
    asked: list[str] = []

    def compute_similarities(_: str, texts: Sequence[str]) -> list[float]:
        asked.extend(texts)
        return [0.5] * len(texts)

    refine_semantically(
        QUESTION,
        [ranked("a/b.py", 1.0), ranked("a/b.py", 0.5), ranked("c.py", 0.4)],
        compute_similarities,
    )
    assert asked == ["a b b", "c c"]


def test_a_name_that_was_asked_for_is_no_matter_of_meaning() -> None:
    found = [ranked("a.py", 1.0, 0.1), ranked("b.py", 0.99, 0.4)]
    assert paths(refine_semantically(parse_query("parse_header"), found, no_model)) == [
        "a.py",
        "b.py",
    ]


def test_what_lies_further_down_stays_where_it_is() -> None:
    found = [ranked(f"{place}.py", 100.0 - place) for place in range(MAX_REFINED_CHUNKS)]
    further = [ranked("further.py", 1.0, 0.4), ranked("last.py", 0.5, 0.4)]
    assert paths(refine_semantically(QUESTION, [*found, *further], no_model))[-2:] == [
        "further.py",
        "last.py",
    ]


def test_the_signals_say_what_was_gained() -> None:
    found = refine_semantically(
        QUESTION, [ranked("a.py", 1.0, 0.1), ranked("b.py", 0.5, 0.4)], lambda *_: [0.1, 0.2]
    )
    for each in found:
        assert abs(sum(each.signals.values()) - each.score) < 1e-9
    assert {Signal.SEMANTIC_REFINE, Signal.PATH_SIMILARITY} <= found[1].signals.keys()


def test_one_chunk_or_none_is_left_alone() -> None:
    assert refine_semantically(QUESTION, [], no_model) == []
    (only,) = refine_semantically(QUESTION, [ranked("a.py", 1.0, 0.4)], no_model)
    assert only.score == 1.0


def test_the_words_of_a_path_are_its_last_folders_and_its_name() -> None:
    assert describe_path("src/deep/er/persistence/hf.py") == "er persistence hf hf"
    assert describe_path("Makefile") == "Makefile Makefile"
    assert describe_path(".bashrc") == ".bashrc .bashrc"


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
    return order(blend_reranker_scores(found, select_for_reranker(QUESTION, found), scores))


def order(found: list[RankedChunk]) -> list[int]:
    return [each.chunk.id for each in found]


def test_the_best_chunk_of_each_of_the_first_files_is_read() -> None:
    found = ranked_files(4 * MAX_RERANKED_FILES, chunks_per_file=3)
    assert order(select_for_reranker(QUESTION, found)) == [
        3 * number for number in range(MAX_RERANKED_FILES)
    ]


@pytest.mark.parametrize("text", ["Session", "src/app.py:12", "read_config()"])
def test_a_name_or_a_place_is_found_without_being_read(text: str) -> None:
    assert select_for_reranker(parse_query(text), ranked_files(5)) == []


def test_one_file_needs_no_reading() -> None:
    assert select_for_reranker(QUESTION, ranked_files(3, chunks_per_file=3)) == []


def test_a_reranker_that_agrees_moves_what_it_likes_better() -> None:
    scores = [1 - number / 10 for number in range(MAX_RERANKED_FILES)]
    scores[3] = 0.99
    assert blend(MAX_RERANKED_FILES, scores).index(3) < 3


def test_it_moves_every_chunk_of_its_file() -> None:
    found = ranked_files(9, chunks_per_file=3)
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
    first, unsure = ranked_files(3), ranked_files(3)
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
        for each in ranked_files(MAX_RERANKED_FILES)
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
