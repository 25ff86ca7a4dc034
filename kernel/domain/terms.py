"""The words that lexical search knows a text by: identifiers taken apart, and once whole.

``getUserName`` is found by ``user`` and, better, by itself; Chinese by any two neighbours in it.
The same analysis is applied to what is indexed and to what is asked.
"""

import re
import unicodedata
from itertools import pairwise

# Changes with every change of what ``spread`` answers, so that an index made by an older analysis
# is recognised and made anew.
ANALYSIS_VERSION = 1

# Longer runs are data (keys, base64) and are cut: nobody types them, what is remembered stays
# small, and no step below can take a time that grows with the square of a line.
LONGEST_WORD = 128

# 91 % of the words of the benchmark's repositories, their files shuffled, are among so many, which
# take 5 MB. To look a word up costs a tenth of a microsecond, to take it apart one to two.
WORDS_REMEMBERED = 32_768

# Characters that carry meaning alone and are written without blanks.
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"

# Vowel signs and points belong to the word they stand in, although ``\w`` leaves them out.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # to Hebrew
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"  # Arabic
    "\u0900-\u0963\u0966-\u0dff"  # India, but for its full stops
    "\u0e31-\u0e4e\u0eb1-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3099\u309a"  # further east
)

# Latin, Greek, Cyrillic and Armenian lie below this; in other scripts no case begins a word.
_END_OF_CAPITALS = 0x588
_WITH_CAPITALS = [chr(code) for code in range(_END_OF_CAPITALS)]
_CAPITAL = "".join(filter(str.isupper, _WITH_CAPITALS))
_SMALL = "".join(filter(str.islower, _WITH_CAPITALS)) + "\u0300-\u036f"

# Of ASCII only letters, digits and the underscore stay; other scripts are looked at word by word.
_BLANK_BETWEEN_WORDS = bytes(
    byte if byte >= 0x80 or chr(byte).isalnum() or chr(byte) == "_" else ord(" ")  # noqa: PLR2004
    for byte in range(256)
)
_WORD = re.compile(rf"[\w{_MARKS}]{{1,{LONGEST_WORD}}}")
_HAN_OR_OTHER = re.compile(rf"([{_HAN}]+)|([^{_HAN}]+)")
_CASED_PART = (
    "[{capital}]+(?:s(?![{small}])|(?![{small}]))"  # HTTP of HTTPServer, URLs of parseURLs
    "|[{capital}]?[{small}]+"  # Server, name
    r"|\d+"
)
_ASCII_PART = re.compile(_CASED_PART.format(capital="A-Z", small="a-z"))
_PART = re.compile(
    _CASED_PART.format(capital=_CAPITAL, small=_SMALL)
    + rf"|(?:(?![{_CAPITAL}{_SMALL}\d_])[\w{_MARKS}])+"  # a word of a script without capitals
)


def spread(text: str) -> str:
    """The words of ``text`` as the index sees them, separated by blanks."""
    # A lone surrogate becomes a question mark, which separates.
    words = text.encode(errors="replace").translate(_BLANK_BETWEEN_WORDS).decode().split()
    return " ".join(map(_remembered.__getitem__, words))


def query_terms(query: str) -> list[str]:
    """The words of a query, each once, in their order."""
    return list(dict.fromkeys(spread(query).split()))


class _Remembered(dict[str, str]):
    """Words and what they become: code repeats its words, so nearly all are looked up in C."""

    def __missing__(self, word: str) -> str:
        if len(word) > LONGEST_WORD:
            return _take_apart(word)
        if len(self) >= WORDS_REMEMBERED:
            self.clear()
        self[word] = terms = _take_apart(word)
        return terms


_remembered = _Remembered()


def _take_apart(word: str) -> str:
    if word.isascii() and len(word) <= LONGEST_WORD:
        return _identifier(word)
    plain = (unicodedata.normalize("NFKC", piece) for piece in _WORD.findall(word))
    return " ".join(
        _neighbours(han) if han else _identifier(other)
        for piece in plain
        for han, other in _HAN_OR_OTHER.findall(piece)
    )


def _identifier(word: str) -> str:
    parts = (_ASCII_PART if word.isascii() else _PART).findall(word)
    if len(parts) > 1:
        parts.append("".join(parts))
    return " ".join(parts).casefold()


def _neighbours(run: str) -> str:
    return " ".join(map("".join, pairwise(run))) or run
