"""The tokenizer of lexical (BM25) search.

Splits text into terms, identifiers into subwords (camelCase, snake_case) plus the whole
identifier; bigrams for scripts without blanks. Indexed texts and queries use the same tokenizer.
"""

import re
import unicodedata
from functools import cache
from itertools import pairwise

# Longer runs are data (keys, base64) and are split: they are never typed, caches stay small,
# and no step below takes time that grows with the square of a line.
MAX_WORD_CHARS = 128

# Changes with every change of what ``tokenize`` returns, so that an older index is recognised and
# rebuilt.
TOKENIZER_VERSION = 1

# Of ASCII only letters, digits and the underscore stay; other scripts are handled word by word.
_SEPARATORS_TO_BLANKS = bytes(
    byte if not sign.isascii() or sign.isalnum() or sign == "_" else ord(" ")
    for byte, sign in enumerate(map(chr, range(256)))
)

_CASED_SUBWORD = (
    "[{capital}]+(?:s(?![{small}])|(?![{small}]))"  # HTTP of HTTPServer, URLs of parseURLs
    "|[{capital}]?[{small}]+"  # Server, name
    r"|\d+"
)

_ASCII_SUBWORD = re.compile(_CASED_SUBWORD.format(capital="A-Z", small="a-z"))

# Characters that carry meaning alone and are written without blanks.
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"

# Vowel signs and points belong to the word they stand in, although ``\w`` leaves them out.
_COMBINING_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # to Hebrew
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"  # Arabic
    "\u0900-\u0963\u0966-\u0dff"  # India, but for its full stops
    "\u0e31-\u0e4e\u0eb1-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3099\u309a"  # further east
)

# Latin, Greek, Cyrillic and Armenian lie below this; in other scripts no case begins a word.
_END_OF_CAPITALS = 0x588


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, which is the short way to write a set of words."""
    return frozenset(text.split())


def split_words(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores of ``text``."""
    # A lone surrogate becomes a question mark, which separates.
    return text.encode(errors="replace").translate(_SEPARATORS_TO_BLANKS).decode().split()


def tokenize(text: str) -> str:
    """Return the terms of ``text``, separated by blanks."""
    return " ".join(map(tokenize_word, split_words(text)))


def tokenize_word(word: str) -> str:
    """Return the terms of one of ``split_words``, separated by blanks."""
    if word.isascii() and len(word) <= MAX_WORD_CHARS:
        return _join_subwords(_ASCII_SUBWORD, word)
    return _split_unicode_word(word)


def tokenize_query(query: str) -> list[str]:
    """Return the terms of a query, each once, in order."""
    return list(dict.fromkeys(tokenize(query).split()))


def find_subword_spans(word: str) -> list[tuple[int, int]]:
    """Return the spans of the subwords of one identifier, as ``tokenize`` splits it.

    Not for Chinese, whose terms are pairs of neighbours.
    """
    subword = _ASCII_SUBWORD if word.isascii() else _compile_unicode_patterns()[2]
    return [part.span() for part in subword.finditer(word)]


def _join_subwords(pattern: re.Pattern[str], word: str) -> str:
    """Return the subwords of one identifier, and the whole of it if there are several."""
    parts: list[str] = pattern.findall(word)
    if len(parts) > 1:
        parts.append("".join(parts))
    return " ".join(parts).casefold()


def _split_unicode_word(word: str) -> str:
    """Return the terms of one run of letters, digits and underscores of any script."""
    word_part, han_or_other, subword = _compile_unicode_patterns()
    plain = (unicodedata.normalize("NFKC", piece) for piece in word_part.findall(word))
    return " ".join(
        (" ".join(map("".join, pairwise(han))) or han) if han else _join_subwords(subword, other)
        for piece in plain
        for han, other in han_or_other.findall(piece)
    )


@cache  # seldom needed, and 10 ms to compile
def _compile_unicode_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a word, of a run of Chinese or other characters, and of a subword."""
    cased = [chr(code) for code in range(_END_OF_CAPITALS)]
    capital = "".join(filter(str.isupper, cased))
    small = "".join(filter(str.islower, cased)) + "\u0300-\u036f"
    # A script without capitals.
    caseless = rf"|(?:(?![{capital}{small}\d_])[\w{_COMBINING_MARKS}])+"
    return (
        re.compile(rf"[\w{_COMBINING_MARKS}]{{1,{MAX_WORD_CHARS}}}"),
        re.compile(rf"([{_HAN}]+)|([^{_HAN}]+)"),
        re.compile(_CASED_SUBWORD.format(capital=capital, small=small) + caseless),
    )
