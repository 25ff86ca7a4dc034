"""The stems under which the lexical index keeps the terms of a text."""

from functools import cache

import tantivy

from codekernel.domain.lexical_tokenizer import MAX_WORD_CHARS, split_words, tokenize_word


@cache
def load_stemmer() -> tantivy.TextAnalyzer:
    """Return the analyzer of terms: split at spaces, and stem English words."""
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return words.filter(tantivy.Filter.stemmer("English")).build()


def stem_word(word: str) -> str:
    """Return the stem under which the index keeps a term."""
    return next(iter(load_stemmer().analyze(word)), word)


# 91 % of the words of the benchmark's repositories, their files shuffled, are among so many, which
# take 5 MB. A lookup costs a tenth of a microsecond; a split and its stems cost two to three.
STEM_CACHE_SIZE = 32_768


class _StemCache(dict[str, str]):
    """Stems by word: code repeats its words, so nearly all are looked up in C.

    Stemming each word of a text again would take tantivy two fifths of its time.
    """

    def __missing__(self, word: str) -> str:
        if word.isdecimal() and word.isascii() and len(word) <= MAX_WORD_CHARS:
            return word  # a number is its own stem, and numbers would push out the words
        stems = " ".join(load_stemmer().analyze(tokenize_word(word)))
        if len(word) <= MAX_WORD_CHARS:
            if len(self) >= STEM_CACHE_SIZE:
                self.clear()
            self[word] = stems
        return stems


_stem_cache = _StemCache()


def stem_text(text: str) -> str:
    """Return the stems of a text as the index keeps them, separated by blanks."""
    return " ".join(map(_stem_cache.__getitem__, split_words(text)))
