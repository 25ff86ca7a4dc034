"""What stands word for word in a chunk comes first."""

import pytest
from codekernel.domain.index import Signal
from codekernel.search.boosts import BoostedChunk
from codekernel.search.phrase_match import (
    MAX_COMPARED_CODE_CHUNKS,
    MAX_COMPARED_OTHER_CHUNKS,
    PHRASE_BOOST,
    PhraseMatch,
    boost_phrases,
    measure_phrases,
    normalize_words,
    select_phrase_candidates,
)
from codekernel.search.query_parser import parse_query
from support.indexed_chunks import indexed_chunk

EXACT = PhraseMatch(1.0, is_whole=True, is_exact=True)

COMMENT = parse_query("keep the socket open until the last reader is gone")


def boosted(number: int, path: str, score: float) -> BoostedChunk:
    return indexed_chunk(path, number), score, {Signal.LEXICAL: score}


def test_words_are_compared_without_punctuation_and_capitals() -> None:
    assert normalize_words('raise("Can\'t  Open\n%s")') == b" raise can t open s "


def test_a_text_that_holds_the_words_in_a_row_is_found() -> None:
    matches = measure_phrases(
        COMMENT,
        {
            1: "# Keep the socket open until\n# the last reader is gone.\n",
            2: "open = the_last(socket, reader)  # until it is gone, keep the is",
            3: "keep the socket open or close it",
        },
    )
    assert matches == {1: PhraseMatch(1.0, is_whole=True, is_exact=False)}


def test_the_same_words_in_a_row_are_more_than_in_pieces_and_the_same_signs_more_still() -> None:
    query = parse_query("Confirm the file is not executable: a hook")
    matches = measure_phrases(
        query,
        {
            1: "confirm the file is not, file is not executable a hook",
            2: "confirm the file is not executable, a hook",
            3: "# Confirm the file\n  is not executable: a hook",
            4: "# Confirm the file is\n  not executable: a hook",
        },
    )
    assert matches[1] < matches[2] < matches[4]
    assert matches[3] == matches[4] == EXACT


def test_a_message_is_found_although_its_values_are_not_in_the_code() -> None:
    query = parse_query("Error: cannot open the settings file /home/me/x.json for reading: denied")
    texts = {1: 'raise E(f"cannot open the settings file {path} for reading: {why}")'}
    assert 1 in measure_phrases(query, texts)


def test_a_message_of_many_values_is_found_by_the_words_between_its_placeholders() -> None:
    query = parse_query("Unresolved type for parameter 'foo' (index #42; erased 'type' some/where)")
    texts = {
        1: """f("Unresolved type for parameter '%s' (index #%d; erased '%s' %s)")""",
        2: "the type of a parameter, its index",
    }
    assert measure_phrases(query, texts).keys() == {1}


@pytest.mark.parametrize("text", ["socket", "app/models.py:12", "打开 套接字 直到 最后", "open it"])
def test_what_is_no_phrase_is_not_compared(text: str) -> None:
    assert (
        select_phrase_candidates(parse_query(text), [(1, 1.0)], {1: indexed_chunk("a.py", 1)}) == []
    )


def test_tests_and_documents_do_not_keep_code_from_being_compared() -> None:
    count = 2 * MAX_COMPARED_CODE_CHUNKS
    chunks = {
        number: indexed_chunk(f"tests/{number}.py" if number < count else f"{number}.py", number)
        for number in range(2 * count)
    }
    found = select_phrase_candidates(COMMENT, [(number, 1.0) for number in chunks], chunks)
    assert found == [
        *range(count, count + MAX_COMPARED_CODE_CHUNKS),
        *range(MAX_COMPARED_OTHER_CHUNKS),
    ]


def test_the_holder_comes_before_everything_else() -> None:
    found = boost_phrases([boosted(1, "a.py", 1.0), boosted(2, "b.py", 0.1)], {2: EXACT})
    assert found[1][1] == pytest.approx(0.1 + PHRASE_BOOST)
    assert sum(found[1][2].values()) == pytest.approx(found[1][1])
    assert found[0][1] == 1.0


def test_what_stands_in_many_places_tells_little() -> None:
    chunks = [boosted(number, f"{number}.py", 1.0) for number in range(30)]
    found = boost_phrases(chunks, dict.fromkeys(range(30), EXACT))
    assert [score for _, score, _ in found] == pytest.approx([1.0 + PHRASE_BOOST / 30] * 30)


def test_of_several_holders_the_most_literal_comes_first() -> None:
    chunks = [boosted(1, "a.py", 1.0), boosted(2, "b.py", 0.5)]
    matches = {1: PhraseMatch(1.0, is_whole=True, is_exact=False), 2: EXACT}
    first, second = boost_phrases(chunks, matches)
    assert (first[1], second[1]) == pytest.approx((1.0, 0.5 + PHRASE_BOOST))


@pytest.mark.parametrize("path", ["CHANGELOG.md", "docs/news.rst", "doc/notes.txt"])
def test_documents_are_not_raised(path: str) -> None:
    chunks = [boosted(1, path, 1.0)]
    assert boost_phrases(chunks, {1: EXACT}) == chunks


@pytest.mark.parametrize("path", ["tests/test_a.py", "docs/conf.py", "examples/a.go"])
def test_a_test_or_script_is_raised_if_it_has_all_of_the_words_and_no_code_has(path: str) -> None:
    chunks = [boosted(1, path, 1.0), boosted(2, "a.py", 1.0)]
    part = PhraseMatch(0.8, is_whole=False, is_exact=False)
    assert [score for _, score, _ in boost_phrases(chunks, {1: EXACT})] == [1.0 + PHRASE_BOOST, 1.0]
    assert [score for _, score, _ in boost_phrases(chunks, {1: part})] == [1.0, 1.0]
    with_code = boost_phrases(chunks, {1: EXACT, 2: part})
    assert [score for _, score, _ in with_code] == pytest.approx([1.0, 1.0 + 0.8 * PHRASE_BOOST])
