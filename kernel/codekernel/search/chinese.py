"""Translate the Chinese words of a query into the English words that code uses.

chinese_words.txt was learned from public translations by scripts/train/chinese_lexicon.py;
glossary.txt is by hand and says what comes first. Of the ways to cut a text into its words the
likeliest is taken.
"""

import math
import re
from collections.abc import Mapping
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
class Meaning:
    """What a word means in English."""

    # The likeliest words, which are said together: connection, pool.
    first: tuple[str, ...] = ()
    # Those and the alternatives of each.
    every: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The Chinese words that are known."""

    meanings: Mapping[str, Meaning]
    # The negative logarithm of how often a word is written, but for a constant.
    costs: Mapping[str, float]
    # Traditional characters by code, and the simplified ones they are read as.
    simplified: Mapping[int, int]
    max_chars: int


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
            if meaning := lexicon.meanings.get(word):
                words += meaning.first if first_only else meaning.every
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
def load_lexicon() -> Lexicon:
    """Read the words that were learned, then those of the glossary."""
    meanings: dict[str, Meaning] = {}
    costs: dict[str, float] = {}
    for line in _read_lines("chinese_words.txt"):
        form, *parts = line.split()
        costs[form] = math.log(len(costs) + _FIRST_RANK)
        if parts:
            each = [part.split("/") for part in parts]
            every = tuple(word for part in each for word in part)
            meanings[form] = Meaning(tuple(part[0] for part in each), every)
    simplified, glossary = _read_glossary()
    for form, senses in glossary.items():
        learned = meanings.get(form, Meaning()).every
        every = (*(word for sense in senses for word in sense.split()), *learned)
        meanings[form] = Meaning(tuple(senses[0].split()), tuple(dict.fromkeys(every)))
        costs.setdefault(form, math.log(_GLOSSARY_RANK))
    return Lexicon(meanings, costs, simplified, max(map(len, costs)))


def _read_glossary() -> tuple[dict[int, int], dict[str, tuple[str, ...]]]:
    """Return the simplified form of each character, and the senses of each word."""
    simplified: dict[int, int] = {}
    glossary: dict[str, tuple[str, ...]] = {}
    for line in _read_lines("glossary.txt"):
        forms, sign, senses = line.partition(" = ")
        if line.startswith("> "):
            simplified |= str.maketrans(line[2::2], line[3::2])
        elif sign:
            each = tuple(senses.split(", "))
            glossary |= {form.translate(simplified): each for form in forms.split(",")}
    return simplified, glossary


def _read_lines(name: str) -> list[str]:
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]
