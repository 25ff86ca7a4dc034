from collections.abc import Sequence

from codekernel.domain.index import Signal
from codekernel.search.query_parser import parse_query
from codekernel.search.ranking import (
    MAX_REFINED_CHUNKS,
    PATH_SIMILARITY_BOOST,
    SEMANTIC_REFINE_BOOST,
    RankedChunk,
    describe_path,
    refine_semantically,
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
