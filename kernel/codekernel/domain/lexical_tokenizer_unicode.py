"""Tokenizer for words that are not plain ASCII.

Other alphabets, and bigrams for scripts without blanks. Imported lazily: its regular
expressions take 10 ms to compile.
"""

import re
import unicodedata
from itertools import pairwise

from codekernel.domain.lexical_tokenizer import CASED_SUBWORD, MAX_WORD_CHARS, join_subwords

# Characters that carry meaning alone and are written without blanks.
HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"

# Vowel signs and points belong to the word they stand in, although ``\w`` leaves them out.
COMBINING_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # to Hebrew
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"  # Arabic
    "\u0900-\u0963\u0966-\u0dff"  # India, but for its full stops
    "\u0e31-\u0e4e\u0eb1-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3099\u309a"  # further east
)

# Latin, Greek, Cyrillic and Armenian lie below this; in other scripts no case begins a word.
_END_OF_CAPITALS = 0x588

_CASED_CHARACTERS = [chr(code) for code in range(_END_OF_CAPITALS)]

_CAPITAL = "".join(filter(str.isupper, _CASED_CHARACTERS))

_SMALL = "".join(filter(str.islower, _CASED_CHARACTERS)) + "\u0300-\u036f"

_WORD = re.compile(rf"[\w{COMBINING_MARKS}]{{1,{MAX_WORD_CHARS}}}")

_HAN_OR_OTHER = re.compile(rf"([{HAN}]+)|([^{HAN}]+)")

UNICODE_SUBWORD = re.compile(
    CASED_SUBWORD.format(capital=_CAPITAL, small=_SMALL)
    + rf"|(?:(?![{_CAPITAL}{_SMALL}\d_])[\w{COMBINING_MARKS}])+"  # a script without capitals
)


def tokenize_unicode_word(word: str) -> str:
    """The terms of one run of letters, digits and underscores."""
    plain = (unicodedata.normalize("NFKC", piece) for piece in _WORD.findall(word))
    return " ".join(
        _join_bigrams(han) if han else join_subwords(UNICODE_SUBWORD.findall(other))
        for piece in plain
        for han, other in _HAN_OR_OTHER.findall(piece)
    )


def _join_bigrams(run: str) -> str:
    return " ".join(map("".join, pairwise(run))) or run
