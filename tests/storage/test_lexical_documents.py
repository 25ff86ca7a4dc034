from codekernel.domain.lexical_tokenizer import MAX_WORD_CHARS, tokenize
from codekernel.storage import lexical_documents
from codekernel.storage.lexical_documents import STEM_CACHE_SIZE, stem_text, stem_word
from hypothesis import example, given
from hypothesis import strategies as st


@given(st.text(st.characters()))
@example("getUserNames of parsed_requests")
@example("连接 connections")
@example("b" * (2 * MAX_WORD_CHARS))
def test_a_text_has_the_stems_of_its_terms(text: str) -> None:
    assert stem_text(text).split() == [stem_word(term) for term in tokenize(text).split()]


def test_what_is_cached_is_bounded() -> None:
    for number in range(2 * STEM_CACHE_SIZE):
        stem_text(f"word{number}")
    assert len(lexical_documents._stem_cache) <= STEM_CACHE_SIZE
    stem_text("b" * 10_000)
    assert max(map(len, lexical_documents._stem_cache)) <= MAX_WORD_CHARS
