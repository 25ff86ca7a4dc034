"""Forms of a word that are one word to a search."""

import pytest
from codekernel.search.query_parser import QUERY_STOPWORDS
from codekernel.search.word_forms import join_neighbors, stem, stem_words
from codekernel.storage.lexical_documents import stem_word


@pytest.mark.parametrize(
    "words",
    [
        "compose composes composed composing composition",
        "util utils utility utilities",
        "arg args argument arguments",
        "format formats formatting formatter formatters",
        "auth authentication authenticate authenticated",
        "process processes processing proc",
        "class classes cls",
        "pos position positions",
        "ctx context contexts",
    ],
)
def test_the_forms_of_a_word_have_one_stem(words: str) -> None:
    assert len(set(map(stem, words.split()))) == 1


@pytest.mark.parametrize("words", ["time timeout", "date datetime", "host hostname", "call calls2"])
def test_different_words_have_different_stems(words: str) -> None:
    one, other = words.split()
    assert stem(one) != stem(other)


def test_names_and_queries_are_stemmed_as_the_index_is() -> None:
    assert stem("connections") == stem_word("connections") == "connect"
    assert stem_words("read_connections") == {"read", "connect", "readconnect"}


def test_neighbours_are_joined_across_a_blank_or_a_hyphen() -> None:
    text = "How does the Thread pool of multi-part uploads, files work"
    assert join_neighbors(text, QUERY_STOPWORDS) == ["threadpool", "multipart", "partuploads"]
