"""Which chunks are found and in which order; vectors are made up, so that no model is needed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Chunk, IndexedFile, Signal
from codekernel.errors import Cancelled
from codekernel.search.filters import Filters
from codekernel.search.pipeline import Searcher, search_hybrid, search_literal
from codekernel.search.query_parser import QueryKind, parse_query
from codekernel.search.query_syntax import parse_search_expression
from codekernel.search.ranking import (
    EVIDENCE_FACTOR_OF_UNNAMED,
    SEMANTIC_WEIGHT,
    SEMANTIC_WEIGHT_OF_UNNAMED,
)
from codekernel.search.retrieval import MIN_COSINE, retrieve_candidates
from codekernel.storage.index_store import IndexStore, open_index
from codekernel.storage.lexical_documents import LexicalDocument

LENGTH = 100
TEXTS = {
    "a.py": "open the database\nreturn 1\n",
    "b.py": "close the socket\nreturn 1\n",
    "c.py": "socket socket socket\nreturn 2\n",
}


@dataclass(frozen=True)
class FakeVectors:
    """Every text has the same cosine with every query."""

    cosines: dict[int, float]
    max_chunk_chars: int = LENGTH
    name: str = "model"
    is_contextual: bool = False

    def search(self, query: str, k: int) -> list[tuple[int, float]]:  # noqa: ARG002
        return sorted(self.cosines.items(), key=lambda it: -it[1])[:k]

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        return max_chunk_chars == self.max_chunk_chars and text_hash not in self.cosines


@dataclass(frozen=True)
class Index:
    store: IndexStore
    vector_indexes: Sequence[FakeVectors] = ()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IndexStore]:
    store = open_index(tmp_path / "index")
    _add_files(store, tmp_path, TEXTS)
    yield store
    store.close()


def _add_files(store: IndexStore, root: Path, texts: Mapping[str, str]) -> None:
    """Add files of one chunk each; their keys are 0, 1, 2, ..."""
    with store.active_writer.begin_batch() as batch:
        for key, (path, text) in enumerate(texts.items()):
            (root / path).write_text(text)
            chunks = {LENGTH: [(Chunk(0, 2, 0, len(text)), key)]}
            file = IndexedFile(path, len(text), -1, b"", "python", "utf-8", text, chunks)
            ((number, _, _),) = batch.put_file(file)[1].written
            store.lexical.replace(path, [LexicalDocument(number, text, "", path)])
    store.lexical.commit()


def find_paths(index: Index, query: str) -> list[str]:
    ranking = search_hybrid(index, parse_query(query), Filters(), 100)
    return [each.chunk.path for each in ranking.chunks]


def find_literally(index: Index, query: str, limit: int = 10) -> tuple[list[str], bool]:
    ranking = search_literal(index, parse_search_expression(query), limit, CancelToken())
    return [each.chunk.path for each in ranking.chunks], ranking.is_complete


def search_with_reranker(
    store: IndexStore, root: Path, query: str, *, accuracy: bool = True
) -> tuple[list[str], list[str]]:
    """Return the paths that are found, and the texts that a reranker in favour of b.py reads."""
    read: list[str] = []

    def prefer_b(_query: str, texts: Sequence[str]) -> list[float]:
        read.extend(texts)
        return [float(text.startswith("b.py\n")) for text in texts]

    index = Index(store, [FakeVectors({0: 0.5, 1: 0.5})])
    hits = Searcher(root, index, prefer_b).search(query, 10, accuracy=accuracy)
    return [hit.chunk.path for hit in hits], read


def test_accuracy_lets_a_reranker_read_the_best_chunk_of_each_file(
    store: IndexStore, tmp_path: Path
) -> None:
    asked = "what does it return"
    plain, read = search_with_reranker(store, tmp_path, asked, accuracy=False)
    assert (plain[:2], read) == (["a.py", "b.py"], [])
    found, read = search_with_reranker(store, tmp_path, asked)
    assert sorted(found) == sorted(plain)
    assert sorted(text.partition("\n")[0] for text in read) == sorted(set(plain))


def test_a_reranker_counts_more_where_no_file_is_named_after_the_question(
    store: IndexStore, tmp_path: Path
) -> None:
    def prefer_b(_query: str, texts: Sequence[str]) -> list[float]:
        return [0.1 * text.startswith("b.py\n") for text in texts]

    searcher = Searcher(tmp_path, Index(store, [FakeVectors({0: 0.5, 1: 0.5})]), prefer_b)
    gains = []
    for query in ("what does it return", "what does b return"):
        (hit,) = (it for it in searcher.search(query, 10, accuracy=True) if it.chunk.path == "b.py")
        gained = hit.signals[Signal.RERANKER]
        gains.append(math.log(sum(hit.signals.values()) / (sum(hit.signals.values()) - gained)))
    assert gains == pytest.approx([0.1 * EVIDENCE_FACTOR_OF_UNNAMED, 0.1])


@pytest.mark.parametrize("text", ["Session", "a.py:12", "read_config()"])
def test_a_name_or_a_place_is_found_without_being_read(
    store: IndexStore, tmp_path: Path, text: str
) -> None:
    assert search_with_reranker(store, tmp_path, text)[1] == []


def test_what_one_list_found_is_looked_up_in_the_other(store: IndexStore) -> None:
    index = Index(store, [FakeVectors({0: 0.9, 1: 0.8, 2: 0.7})])
    candidates = retrieve_candidates(index, parse_query("socket"), 1)
    (by_words, _), (by_meaning, _) = *candidates.lexical, *candidates.semantic[0]
    paths = {number: chunk.path for number, chunk in candidates.chunks.items()}
    assert paths == {by_words: "c.py", by_meaning: "a.py"}
    assert candidates.cosines == [{by_words: 0.7, by_meaning: 0.9}]
    assert list(candidates.lexical_scores) == [by_words]  # no word of the query is in a.py


def test_meaning_is_louder_where_no_file_is_named_after_the_question(
    store: IndexStore, tmp_path: Path
) -> None:
    index = Index(store, [FakeVectors({0: 0.9, 1: 0.5, 2: 0.4})])
    question = parse_query("close the socket quickly")

    def get_meaning() -> float:
        ranked = search_hybrid(index, question, Filters(), 100).chunks
        return next(it.signals[Signal.SEMANTIC] for it in ranked if it.chunk.path == "a.py")

    unnamed = get_meaning()
    assert unnamed == pytest.approx(SEMANTIC_WEIGHT_OF_UNNAMED)
    _add_files(store, tmp_path, {"closed_socket.py": "close it\n"})
    assert get_meaning() == pytest.approx(SEMANTIC_WEIGHT[QueryKind.PROSE])


def test_a_contextual_model_outweighs_a_static_one_that_contradicts(store: IndexStore) -> None:
    static = FakeVectors({0: 0.9, 1: 0.5, 2: 0.4})
    other = FakeVectors({0: 0.5, 1: 0.9, 2: 0.4})
    loud, question = replace(other, is_contextual=True), "how does anything go away"
    assert find_paths(Index(store, [static, other]), question)[0] == "a.py"
    for vectors in ([static, loud], [loud, static]):
        assert find_paths(Index(store, vectors), question)[0] == "b.py"


def test_where_no_word_and_no_meaning_matches_nothing_is_found(store: IndexStore) -> None:
    far = FakeVectors({0: MIN_COSINE - 0.01, 1: 0.1})
    assert find_paths(Index(store, [far]), "asdkjhqwe zzkq") == []
    assert find_paths(Index(store), "asdkjhqwe zzkq") == []


def test_meaning_alone_is_enough_if_it_is_near(store: IndexStore) -> None:
    near = FakeVectors({0: MIN_COSINE, 1: 0.1})
    far = FakeVectors({0: 0.2})
    assert find_paths(Index(store, [near]), "persistence") == ["a.py", "b.py"]
    assert find_paths(Index(store, [far, near]), "persistence") == ["a.py", "b.py"]


def test_a_sentence_is_answered_by_meaning_however_far_that_is(store: IndexStore) -> None:
    far = FakeVectors({0: 0.1, 1: 0.05})
    assert find_paths(Index(store, [far]), "how is it persisted") == ["a.py", "b.py"]


def test_a_word_is_enough_however_far_the_meaning(store: IndexStore) -> None:
    far = FakeVectors({0: 0.1, 1: 0.05})
    assert "a.py" in find_paths(Index(store, [far]), "database zzkq")


def test_exact_strings_alone_come_by_path(store: IndexStore) -> None:
    assert find_literally(Index(store), '"return 1"') == (["a.py", "b.py"], True)


def test_a_scan_can_be_cancelled(store: IndexStore) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        search_literal(Index(store), parse_search_expression('"return"'), 10, cancel)


def test_a_search_says_whether_it_shows_all_and_what_to_highlight(
    store: IndexStore, tmp_path: Path
) -> None:
    searcher = Searcher(tmp_path, Index(store))
    found = searcher.run_search('"return 1"', 1, CancelToken(), accuracy=False)
    assert ([hit.chunk.path for hit in found.hits], found.is_complete) == (["a.py"], False)
    assert found.highlight_terms == ["return 1"]
    assert searcher.run_search("socket", 1, CancelToken(), accuracy=False).is_complete


@pytest.mark.slow
def test_the_order_does_not_depend_on_the_limit(tmp_path: Path) -> None:
    store = open_index(tmp_path / "index")
    names = [f"{'socket' if number % 7 else 'pipe'}_{number}.py" for number in range(500)]
    texts = {
        name: f"{'socket ' * (number % 5 + 1)}{'closed ' * (number % 3)}{'x ' * (number % 11)}\n"
        for number, name in enumerate(names)
    }
    _add_files(store, tmp_path, texts)
    cosines = {number: (number * 37 % 500) / 500 for number in range(500)}
    searcher = Searcher(tmp_path, Index(store, [FakeVectors(cosines)]))
    found = [
        [hit.chunk.path for hit in searcher.search("where is a socket closed", limit)]
        for limit in (10, 50, 200, 400)
    ]
    scores = [hit.score for hit in searcher.search("where is a socket closed", 400)]
    store.close()
    assert [len(each) for each in found] == [10, 50, 200, 400]
    assert all(longer[: len(each)] == each for each, longer in pairwise(found))
    assert len(set(found[-1])) == 400
    assert scores == sorted(scores, reverse=True)


def test_a_hit_that_only_words_found_is_pending_until_a_model_has_read_it(
    store: IndexStore, tmp_path: Path
) -> None:
    searcher = Searcher(tmp_path, Index(store, [FakeVectors({1: 0.5})]))
    freshness = {hit.chunk.path: hit.freshness for hit in searcher.search("socket", 10)}
    assert freshness == {"b.py": "fresh", "c.py": "embedding pending"}
    other_size = FakeVectors({}, max_chunk_chars=2 * LENGTH)
    searcher = Searcher(tmp_path, Index(store, [FakeVectors({1: 0.5, 2: 0.1}), other_size]))
    assert {hit.freshness for hit in searcher.search("socket", 10)} == {"fresh"}
    (tmp_path / "b.py").write_text("longer than it was before this line was written")
    (tmp_path / "c.py").unlink()
    freshness = {hit.chunk.path: hit.freshness for hit in searcher.search("socket", 10)}
    assert freshness == {"b.py": "changed since indexed"}


def test_an_exact_match_is_a_whole_match_and_all_matches_are_counted(
    store: IndexStore, tmp_path: Path
) -> None:
    searcher = Searcher(tmp_path, Index(store))
    found = searcher.run_search('"return 1"', 1, CancelToken(), accuracy=False)
    assert [hit.score for hit in found.hits] == [1.0]
    assert len(found.ranked) == 2
    assert not found.is_complete
