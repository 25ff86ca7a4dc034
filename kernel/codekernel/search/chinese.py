"""Translate the Chinese words of a query into the English words that code uses.

chinese_words.txt was learned from public translations by scripts/train/chinese_lexicon.py;
glossary.txt is by hand and says what comes first. Of the ways to cut a text into its words the
likeliest is taken.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# A query is a sentence; a pasted page is not translated to its end.
MAX_TRANSLATED_CHARS = 4_000

_CHINESE_OR_LATIN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+|[A-Za-z_][A-Za-z0-9_]*")

# What an unknown character costs beyond the rarest word.
_UNKNOWN_COST = 3.0

# Ranks are counted from here, so that the commonest words cost something.
_FIRST_RANK = 2

# What only the glossary has is taken for as common as the word of this rank.
_GLOSSARY_RANK = 1_000


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The Chinese words that are known, with their lines as they are: few are ever asked for."""

    # Parts that are said together, each with its alternatives: "pool connection", "kind/sort".
    learned: Mapping[str, str]
    # Alternatives by hand: "regular expression, regex".
    glossary: Mapping[str, str]
    # The negative logarithm of how often a word is written, but for a constant.
    costs: Mapping[str, float]
    # Traditional characters by code, and the simplified ones they are read as.
    simplified: Mapping[int, int]
    max_chars: int

    def translate(self, word: str, *, first_only: bool) -> list[str]:
        """Return the likeliest words, or those and all others."""
        parts = [part.split("/") for part in self.learned.get(word, "").split()]
        senses = [sense.split() for sense in self.glossary.get(word, "").split(", ") if sense]
        if first_only:
            return senses[0] if senses else [part[0] for part in parts]
        return [it for each in senses + parts for it in each]


def translate_chinese(text: str, *, first_only: bool = False) -> list[str]:
    """Return English words for the Chinese parts and the Latin words as they are, each once.

    ``first_only`` leaves out alternatives. Words that nobody translated are left out.
    """
    lexicon = load_lexicon()
    words: list[str] = []
    for run in _CHINESE_OR_LATIN.findall(text[:MAX_TRANSLATED_CHARS].translate(lexicon.simplified)):
        if run.isascii():
            words.append(run)
            continue
        for word in _cut(run, lexicon):
            words += lexicon.translate(word, first_only=first_only)
    return list(dict.fromkeys(words))


def _cut(run: str, lexicon: Lexicon) -> list[str]:
    """Return the words of the likeliest cut, with unknown characters alone."""
    unknown = math.log(len(lexicon.costs)) + _UNKNOWN_COST
    costs = [0.0]
    begins = [0]
    for end in range(1, len(run) + 1):
        cost, begin = min(
            (costs[begin] + lexicon.costs.get(run[begin:end], unknown), begin)
            for begin in range(max(0, end - lexicon.max_chars), end)
            if begin == end - 1 or run[begin:end] in lexicon.costs
        )
        costs.append(cost)
        begins.append(begin)
    words: list[str] = []
    end = len(run)
    while end:
        words.append(run[begins[end] : end])
        end = begins[end]
    return words[::-1]


@cache
def load_lexicon(*, with_glossary: bool = True) -> Lexicon:
    """Read the words that were learned, the commonest first, and those of the glossary."""
    learned: dict[str, str] = {}
    costs: dict[str, float] = {}
    for line in _read_lines("chinese_words.txt"):
        form, _, parts = line.partition(" ")
        costs[form] = math.log(len(costs) + _FIRST_RANK)
        if parts:
            learned[form] = parts
    simplified: dict[int, int] = {}
    glossary: dict[str, str] = {}
    for line in _read_lines("glossary.txt"):
        forms, sign, senses = line.partition(" = ")
        if line.startswith("> "):
            simplified |= str.maketrans(line[2::2], line[3::2])
        elif sign and with_glossary:
            glossary |= dict.fromkeys(forms.translate(simplified).split(","), senses)
    for form in glossary:
        costs.setdefault(form, math.log(_GLOSSARY_RANK))
    return Lexicon(learned, glossary, costs, simplified, max(map(len, costs)))


def _read_lines(name: str) -> Iterator[str]:
    with Path(__file__).with_name(name).open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                yield line.rstrip()
