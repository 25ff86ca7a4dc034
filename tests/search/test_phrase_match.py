"""What stands word for word in a chunk comes first."""

import pytest
from codekernel.domain.index import Signal
from codekernel.search.boosts import BoostedChunk
from codekernel.search.phrase_match import (
    PHRASE_BOOST,
    boost_phrases,
    measure_phrases,
    normalize_words,
    select_phrase_candidates,
)
from codekernel.search.query_parser import parse_query
from support.indexed_chunks import indexed_chunk

COMMENT = parse_query("keep the socket open until the last reader is gone")


def boosted(number: int, path: str, score: float) -> BoostedChunk:
    return indexed_chunk(path, number), score, {Signal.LEXICAL: score}


def test_words_are_compared_without_punctuation_and_capitals() -> None:
    assert normalize_words('raise("Can\'t  Open\n%s")') == b" raise can t open s "


def test_a_text_that_holds_the_words_in_a_row_is_found() -> None:
    shares = measure_phrases(
        COMMENT,
        {
            1: "# Keep the socket open until\n# the last reader is gone.\n",
            2: "open = the_last(socket, reader)  # until it is gone, keep the is",
            3: "keep the socket open or close it",
        },
    )
    assert shares == {1: pytest.approx(1.0)}


def test_a_message_is_found_although_its_values_are_not_in_the_code() -> None:
    query = parse_query("Error: cannot open the settings file /home/me/x.json for reading: denied")
    texts = {1: 'raise E(f"cannot open the settings file {path} for reading: {why}")'}
    assert 1 in measure_phrases(query, texts)


@pytest.mark.parametrize("text", ["socket", "app/models.py:12", "打开 套接字 直到 最后", "open it"])
def test_what_is_no_phrase_is_not_compared(text: str) -> None:
    assert select_phrase_candidates(parse_query(text), [(1, 1.0)]) == []


def test_the_holder_comes_before_everything_else() -> None:
    found = boost_phrases([boosted(1, "a.py", 1.0), boosted(2, "b.py", 0.1)], {2: 1.0})
    assert found[1][1] == pytest.approx(0.1 + PHRASE_BOOST)
    assert sum(found[1][2].values()) == pytest.approx(found[1][1])
    assert found[0][1] == 1.0


def test_what_stands_in_many_places_tells_little() -> None:
    chunks = [boosted(number, f"{number}.py", 1.0) for number in range(30)]
    found = boost_phrases(chunks, dict.fromkeys(range(30), 1.0))
    assert [score for _, score, _ in found] == pytest.approx([1.0 + PHRASE_BOOST / 30] * 30)


@pytest.mark.parametrize("path", ["CHANGELOG.md", "docs/news.rst", "tests/test_a.py", "a.json"])
def test_documents_and_tests_are_not_raised(path: str) -> None:
    chunks = [boosted(1, path, 1.0)]
    assert boost_phrases(chunks, {1: 1.0}) == chunks
