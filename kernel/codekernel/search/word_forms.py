"""Unite the forms of a word: inflections, short forms in code, compounds written together.

Names, paths and queries are compared by ``stem``: the stemmer of the lexical index, so that both
know the same forms, and the short forms of words in word_forms.txt (args, arguments).
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path

from codekernel.domain.lexical_tokenizer import tokenize_query

_STEM_CACHE_SIZE = 65_536

# Two words with a blank or a hyphen between them; overlapping.
_NEIGHBORS = re.compile(r"(?=\b([a-z]{2,})[ -]([a-z]{2,})\b)")

# Shorter stems may end so by nature: call, pass.
_MIN_DOUBLED_CHARS = 5

_VOWELS = frozenset("aeiou")


@lru_cache(_STEM_CACHE_SIZE)
def stem(word: str) -> str:
    """Return the same stem for the forms of a word and for its short forms in code."""
    root = _unite_roots(_load_stemmer()(word))
    return _load_short_forms().get(root, root)


@lru_cache(_STEM_CACHE_SIZE)
def stem_words(text: str) -> frozenset[str]:
    """Return the stems of a name, a folder or a short text."""
    return frozenset(map(stem, tokenize_query(text)))


def join_neighbors(text: str, stopwords: frozenset[str]) -> list[str]:
    """Return the neighbours in a text as one word each: filename for "the file name"."""
    return [
        first + second
        for first, second in _NEIGHBORS.findall(text.lower())
        if first not in stopwords and second not in stopwords
    ]


def _unite_roots(root: str) -> str:
    """Return one root for what the stemmer keeps apart."""
    if len(root) >= _MIN_DOUBLED_CHARS and root[-1] == root[-2] and root[-1] not in _VOWELS:
        return root[:-1]  # formatter, format
    return root[:-2] if root.endswith("osit") else root  # composition, compose


@cache
def _load_stemmer() -> Callable[[str], str]:
    from codekernel.storage.lexical_documents import stem_word  # noqa: PLC0415 - loads the search engine

    return stem_word


@cache
def _load_short_forms() -> dict[str, str]:
    """Return the word of each short form."""
    text = Path(__file__).with_name("word_forms.txt").read_text("utf-8")
    rows = (line.partition(":") for line in text.splitlines() if not line.startswith("#"))
    return {
        _unite_roots(short): _unite_roots(word)
        for word, _, shorts in rows
        for short in shorts.split()
    }
