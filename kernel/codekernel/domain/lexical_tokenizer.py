"""The tokenizer of lexical (BM25) search.

Splits text into terms, identifiers into subwords (camelCase, snake_case) plus the whole
identifier. Indexed texts and queries use the same tokenizer.
"""

import re

# Longer runs are data (keys, base64) and are split: they are never typed, the cache stays small,
# and no step below takes time that grows with the square of a line.
MAX_WORD_CHARS = 128

CASED_SUBWORD = (
    "[{capital}]+(?:s(?![{small}])|(?![{small}]))"  # HTTP of HTTPServer, URLs of parseURLs
    "|[{capital}]?[{small}]+"  # Server, name
    r"|\d+"
)


def join_subwords(parts: list[str]) -> str:
    """Return the subwords of one identifier, and the whole of it if there are several."""
    if len(parts) > 1:
        parts.append("".join(parts))
    return " ".join(parts).casefold()


# Changes with every change of what ``tokenize`` returns, so that an older index is recognised and
# rebuilt.
TOKENIZER_VERSION = 1

# 91 % of the words of the benchmark's repositories, their files shuffled, are among so many, which
# take 5 MB. A lookup costs a tenth of a microsecond, a split one to two.
TERM_CACHE_SIZE = 32_768

# Of ASCII only letters, digits and the underscore stay; other scripts are handled word by word.
_SEPARATORS_TO_BLANKS = bytes(
    byte if byte >= 0x80 or chr(byte).isalnum() or chr(byte) == "_" else ord(" ")  # noqa: PLR2004
    for byte in range(256)
)

_ASCII_SUBWORD = re.compile(CASED_SUBWORD.format(capital="A-Z", small="a-z"))


def tokenize(text: str) -> str:
    """Return the terms of ``text``, separated by blanks."""
    # A lone surrogate becomes a question mark, which separates.
    words = text.encode(errors="replace").translate(_SEPARATORS_TO_BLANKS).decode().split()
    return " ".join(map(_term_cache.__getitem__, words))


def tokenize_query(query: str) -> list[str]:
    """Return the terms of a query, each once, in order."""
    return list(dict.fromkeys(tokenize(query).split()))


def find_subword_spans(word: str) -> list[tuple[int, int]]:
    """Return the spans of the subwords of one identifier, as ``tokenize`` splits it.

    Not for Chinese, whose terms are pairs of neighbours.
    """
    if word.isascii():
        return [part.span() for part in _ASCII_SUBWORD.finditer(word)]
    from codekernel.domain.lexical_tokenizer_unicode import UNICODE_SUBWORD  # noqa: PLC0415 - seldom needed

    return [part.span() for part in UNICODE_SUBWORD.finditer(word)]


class _TermCache(dict[str, str]):
    """Terms by word: code repeats its words, so nearly all are looked up in C."""

    def __missing__(self, word: str) -> str:
        if len(word) > MAX_WORD_CHARS:
            return _split_word(word)
        if len(self) >= TERM_CACHE_SIZE:
            self.clear()
        self[word] = terms = _split_word(word)
        return terms


_term_cache = _TermCache()


def _split_word(word: str) -> str:
    if not word.isascii() or len(word) > MAX_WORD_CHARS:
        from codekernel.domain.lexical_tokenizer_unicode import tokenize_unicode_word  # noqa: PLC0415 - seldom needed

        return tokenize_unicode_word(word)
    return join_subwords(_ASCII_SUBWORD.findall(word))
