"""Which chunks are found and in which order; vectors are given, so that no model is needed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel.domain.cancel import CancelToken
from kernel.domain.chunk import Chunk
from kernel.domain.indexed import IndexedFile
from kernel.errors import Cancelled
from kernel.search.filters import Filters
from kernel.search.query import understood
from kernel.search.request import asked
from kernel.search.retrieval import LEAST_COSINE, ranked_by_evidence, ranked_by_text
from kernel.search.searcher import Searcher
from kernel.storage.index_store import IndexStore, open_index
from kernel.storage.lexical_schema import LexicalDocument

LENGTH = 100
TEXTS = {
    "a.py": "open the database\nreturn 1\n",
    "b.py": "close the socket\nreturn 1\n",
    "c.py": "socket socket socket\nreturn 2\n",
}


@dataclass(frozen=True)
class GivenVectors:
    """Every text is as near to every query as was said."""

    cosines: dict[int, float]
    input_length: int = LENGTH
    near_path: str = ""

    def search(self, query: str, k: int) -> list[tuple[int, float]]:  # noqa: ARG002
        return sorted(self.cosines.items(), key=lambda it: -it[1])[:k]

    def likeness(self, query: str, texts: Sequence[str]) -> list[float]:  # noqa: ARG002
        return [float(text == self.near_path) for text in texts] if self.near_path else []

    def lacks(self, key: int, input_length: int) -> bool:
        return input_length == self.input_length and key not in self.cosines


@dataclass(frozen=True)
class Index:
    store: IndexStore
    arms: Sequence[GivenVectors] = ()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IndexStore]:
    store = open_index(tmp_path / "index")
    for key, (path, text) in enumerate(TEXTS.items()):
        (tmp_path / path).write_text(text)
        cuts = {LENGTH: [(Chunk(0, 2, 0, len(text)), key)]}
        file = IndexedFile(path, len(text), -1, b"", "python", "utf-8", text, cuts)
        with store.writing.batch() as batch:
            ((number, _),) = batch.put_file(file)[1]
        store.lexical.replace(path, [LexicalDocument(number, text, "", path)])
    store.lexical.commit()
    yield store
    store.close()


def paths(index: Index, query: str, *, accuracy: bool = False) -> list[str]:
    ranked = ranked_by_evidence(index, understood(query), Filters(), 100, accuracy=accuracy)
    return [each.chunk.path for each in ranked]


def by_text(index: Index, query: str, limit: int = 10) -> tuple[list[str], bool]:
    ranked, is_complete = ranked_by_text(index, asked(query), limit, CancelToken())
    return [each.chunk.path for each in ranked], is_complete


def test_accuracy_hears_what_a_quick_model_says_of_paths(store: IndexStore) -> None:
    slow, quick = GivenVectors({}), GivenVectors({0: 0.5, 1: 0.5}, near_path="b b")
    index = Index(store, [slow, quick])
    asked = "what does it return"
    assert paths(index, asked)[:2] == ["a.py", "b.py"]
    assert paths(index, asked, accuracy=True)[:2] == ["b.py", "a.py"]


def test_where_no_word_and_no_meaning_matches_nothing_is_found(store: IndexStore) -> None:
    far = GivenVectors({0: LEAST_COSINE - 0.01, 1: 0.1})
    assert paths(Index(store, [far]), "asdkjhqwe zzkq") == []
    assert paths(Index(store), "asdkjhqwe zzkq") == []


def test_meaning_alone_is_enough_if_it_is_near(store: IndexStore) -> None:
    near = GivenVectors({0: LEAST_COSINE, 1: 0.1})
    far = GivenVectors({0: 0.2})
    assert paths(Index(store, [near]), "persistence") == ["a.py", "b.py"]
    assert paths(Index(store, [far, near]), "persistence") == ["a.py", "b.py"]


def test_a_sentence_is_answered_by_meaning_however_far_that_is(store: IndexStore) -> None:
    far = GivenVectors({0: 0.1, 1: 0.05})
    assert paths(Index(store, [far]), "how is it persisted") == ["a.py", "b.py"]


def test_a_word_is_enough_however_far_the_meaning(store: IndexStore) -> None:
    far = GivenVectors({0: 0.1, 1: 0.05})
    assert "a.py" in paths(Index(store, [far]), "database zzkq")


def test_exact_strings_alone_come_by_path(store: IndexStore) -> None:
    assert by_text(Index(store), '"return 1"') == (["a.py", "b.py"], True)


def test_words_beside_an_exact_string_order_the_matches(store: IndexStore) -> None:
    assert by_text(Index(store), '"return 1" socket') == (["b.py", "a.py"], True)
    assert by_text(Index(store), "/return [12]/ socket")[0] == ["c.py", "b.py", "a.py"]


def test_words_beside_an_exact_string_decide_before_the_limit_does(store: IndexStore) -> None:
    assert by_text(Index(store), '"return" socket', limit=1) == (["c.py"], False)


def test_whoever_asks_can_call_a_scan_off(store: IndexStore) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        ranked_by_text(Index(store), asked('"return"'), 10, cancel)


def test_a_search_says_whether_it_shows_all_and_what_to_mark(
    store: IndexStore, tmp_path: Path
) -> None:
    searcher = Searcher(tmp_path, Index(store))
    found = searcher.found('"return 1" socket', 1, CancelToken(), accuracy=False)
    assert ([hit.chunk.path for hit in found.hits], found.is_complete) == (["b.py"], False)
    assert found.words == ["socket", "return 1"]
    assert searcher.found("socket", 1, CancelToken(), accuracy=False).is_complete


def test_a_hit_that_only_words_found_is_pending_until_a_model_has_read_it(
    store: IndexStore, tmp_path: Path
) -> None:
    searcher = Searcher(tmp_path, Index(store, [GivenVectors({1: 0.5})]))
    freshness = {hit.chunk.path: hit.freshness for hit in searcher.search("socket", 10)}
    assert freshness == {"b.py": "fresh", "c.py": "embedding pending"}
    other_cut = GivenVectors({}, input_length=2 * LENGTH)
    searcher = Searcher(tmp_path, Index(store, [GivenVectors({1: 0.5, 2: 0.1}), other_cut]))
    assert {hit.freshness for hit in searcher.search("socket", 10)} == {"fresh"}
    (tmp_path / "b.py").write_text("longer than it was before this line was written")
    (tmp_path / "c.py").unlink()
    freshness = {hit.chunk.path: hit.freshness for hit in searcher.search("socket", 10)}
    assert freshness == {"b.py": "changed since indexed"}
