"""The words that lexical search knows a text by: identifiers taken apart, and once whole.

``getUserName`` is found by ``user`` and, better, by itself; Chinese by any two neighbours in it.
The same analysis is applied to what is indexed and to what is asked.
"""

import re

from kernel.domain.terms_cased import CASED_PART, LONGEST_WORD, joined

# Changes with every change of what ``spread`` answers, so that an index made by an older analysis
# is recognised and made anew.
ANALYSIS_VERSION = 1

# 91 % of the words of the benchmark's repositories, their files shuffled, are among so many, which
# take 5 MB. To look a word up costs a tenth of a microsecond, to take it apart one to two.
WORDS_REMEMBERED = 32_768

# Of ASCII only letters, digits and the underscore stay; other scripts are looked at word by word.
_BLANK_BETWEEN_WORDS = bytes(
    byte if byte >= 0x80 or chr(byte).isalnum() or chr(byte) == "_" else ord(" ")  # noqa: PLR2004
    for byte in range(256)
)
_PART = re.compile(CASED_PART.format(capital="A-Z", small="a-z"))


def spread(text: str) -> str:
    """The words of ``text`` as the index sees them, separated by blanks."""
    # A lone surrogate becomes a question mark, which separates.
    words = text.encode(errors="replace").translate(_BLANK_BETWEEN_WORDS).decode().split()
    return " ".join(map(_remembered.__getitem__, words))


def query_terms(query: str) -> list[str]:
    """The words of a query, each once, in their order."""
    return list(dict.fromkeys(spread(query).split()))


def part_spans(word: str) -> list[tuple[int, int]]:
    """Where the parts of one identifier lie in it, as ``spread`` takes it apart.

    Not for Chinese, which has no parts but neighbours.
    """
    if word.isascii():
        return [part.span() for part in _PART.finditer(word)]
    from kernel.domain.terms_of_scripts import PART  # noqa: PLC0415 - seldom needed

    return [part.span() for part in PART.finditer(word)]


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
    if not word.isascii() or len(word) > LONGEST_WORD:
        from kernel.domain.terms_of_scripts import taken_apart  # noqa: PLC0415 - seldom needed

        return taken_apart(word)
    return joined(_PART.findall(word))
