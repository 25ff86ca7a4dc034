"""Which lines of a hit are shown, and which of their words the query asked for."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernel.search.query import understood
from kernel.search.request import asked
from kernel.search.stems import stem

# Enough to recognise the place; ten hits of it fit on two screens.
MOST_LINES = 12

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_HAN = re.compile("[\u3005\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")


@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of the text that the query asked for, and by which of its words."""

    begin: int
    end: int
    word: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file, counted from 1, and where it begins in the text of the hit."""

    number: int
    begin: int
    text: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """The lines to show and the one to jump to."""

    lines: tuple[Line, ...]
    best: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a query can be seen in a text: words by their stems, and what must stand there."""

    stems: frozenset[str]
    han: tuple[str, ...]
    literals: tuple[re.Pattern[str], ...]


def wanted(text: str) -> Wanted:
    """Take a query apart; WrongParam if it holds a regular expression that is not one."""
    request = asked(text)
    query = understood(request.words)
    exact = [re.compile(re.escape(each)) for each in request.exact]
    return Wanted(
        stems=query.stems,
        han=tuple(term for term in query.terms if _HAN.search(term)),
        literals=(*exact, *([request.pattern] if request.pattern else [])),
    )


def snippet(content: str, begin_line: int, sought: Wanted) -> Snippet:
    """The lines of ``content`` that say most about the query; ``begin_line`` counts from 0."""
    lines = _lines(content, begin_line)
    marks = tuple(sorted(_marks(content, sought), key=lambda mark: mark.begin))
    if not lines:
        return Snippet((), begin_line + 1, ())
    words = _words_by_line(lines, marks)
    start = _best_window(words)
    shown = lines[start : start + MOST_LINES]
    best = max(range(len(lines)), key=lambda place: len(words[place]))
    if not words[best]:
        best = start
    return Snippet(tuple(shown), lines[best].number, marks)


def _lines(content: str, begin_line: int) -> list[Line]:
    """The lines without blank ones at both ends."""
    lines, begin = [], 0
    for place, text in enumerate(content.split("\n")):
        lines.append(Line(begin_line + place + 1, begin, text.removesuffix("\r")))
        begin += len(text) + 1
    while lines and not lines[-1].text.strip():
        lines.pop()
    while lines and not lines[0].text.strip():
        lines.pop(0)
    return lines


def _words_by_line(lines: Sequence[Line], marks: Sequence[Mark]) -> list[set[str]]:
    words: list[set[str]] = [set() for _ in lines]
    begins = [line.begin for line in lines]
    for mark in marks:  # never in a blank line before the first
        words[bisect_right(begins, mark.begin) - 1].add(mark.word)
    return words


def _best_window(words: Sequence[set[str]]) -> int:
    """Where the lines begin that hold most different words, then most of them."""
    starts = range(max(1, len(words) - MOST_LINES + 1))

    def worth(start: int) -> tuple[int, int]:
        window = words[start : start + MOST_LINES]
        return len(set().union(*window)), sum(map(len, window))

    return max(starts, key=worth)


def _marks(content: str, sought: Wanted) -> Iterator[Mark]:
    for pattern in sought.literals:
        for found in pattern.finditer(content):
            yield Mark(found.start(), found.end(), pattern.pattern)
    for word in _WORD.finditer(content):
        whole = stem(word.group().replace("_", "").casefold())
        if whole in sought.stems:
            yield Mark(word.start(), word.end(), whole)
            continue
        for part in _PART.finditer(content, word.start(), word.end()):
            name = stem(part.group().casefold())
            if name in sought.stems:
                yield Mark(part.start(), part.end(), name)
            else:
                yield from _inside(part, sought.han)


def _inside(part: re.Match[str], terms: Sequence[str]) -> Iterator[Mark]:
    """Chinese is written without blanks, so its words are looked for anywhere."""
    for term in terms:
        place = part.group().find(term)
        if place >= 0:
            yield Mark(part.start() + place, part.start() + place + len(term), term)
