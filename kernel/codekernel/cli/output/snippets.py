"""Choose the lines of a hit that show the most terms of the query."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codekernel.search.query_parser import parse_query, parse_search_expression
from codekernel.search.stopwords import stem

# Enough to recognize the place; ten hits of it fit on two screens.
MAX_SNIPPET_LINES = 12

_WORD = re.compile(r"\w+")

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

_HAN = re.compile("[\u3005\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A span of the text that matches the query, and the term it matches."""

    begin: int
    end: int
    term: str


@dataclass(frozen=True, slots=True)
class SnippetLine:
    """A line of the file, counted from 1, and where it begins in the content of the hit."""

    number: int
    begin: int
    text: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """The lines to show, the line to jump to, and what is highlighted."""

    lines: tuple[SnippetLine, ...]
    best_line: int
    matches: tuple[TermMatch, ...]


@dataclass(frozen=True, slots=True)
class HighlightTerms:
    """What of a query is highlighted: words by their stems, exact strings and the regex."""

    stems: frozenset[str]
    han_terms: tuple[str, ...]
    literals: tuple[re.Pattern[str], ...]


def parse_highlight_terms(text: str) -> HighlightTerms:
    """Return the terms of a query. Raises WrongParam for an invalid regex."""
    expression = parse_search_expression(text)
    query = parse_query(expression.plain_text)
    exact = [re.compile(re.escape(each)) for each in expression.exact_strings]
    return HighlightTerms(
        stems=query.stems,
        han_terms=tuple(term for term in query.terms if _HAN.search(term)),
        literals=(*exact, *([expression.regex] if expression.regex else [])),
    )


def select_snippet(content: str, begin_line: int, terms: HighlightTerms) -> Snippet:
    """Return the lines with the most different terms; ``begin_line`` counts from 0."""
    lines = _split_lines(content, begin_line)
    matches = tuple(sorted(_find_matches(content, terms), key=lambda match: match.begin))
    if not lines:
        return Snippet((), begin_line + 1, ())
    found = _group_terms_by_line(lines, matches)
    start = _find_best_window(found)
    best = max(range(len(lines)), key=lambda place: len(found[place]))
    if not found[best]:
        best = start
    return Snippet(tuple(lines[start : start + MAX_SNIPPET_LINES]), lines[best].number, matches)


def _split_lines(content: str, begin_line: int) -> list[SnippetLine]:
    """Return the lines without blank ones at both ends."""
    lines, begin = [], 0
    for place, text in enumerate(content.split("\n")):
        lines.append(SnippetLine(begin_line + place + 1, begin, text.removesuffix("\r")))
        begin += len(text) + 1
    while lines and not lines[-1].text.strip():
        lines.pop()
    while lines and not lines[0].text.strip():
        lines.pop(0)
    return lines


def _group_terms_by_line(
    lines: Sequence[SnippetLine], matches: Sequence[TermMatch]
) -> list[set[str]]:
    terms: list[set[str]] = [set() for _ in lines]
    begins = [line.begin for line in lines]
    for match in matches:  # never in a blank line before the first
        terms[bisect_right(begins, match.begin) - 1].add(match.term)
    return terms


def _find_best_window(terms: Sequence[set[str]]) -> int:
    """Return the start of the lines with the most different terms, then with most of them."""
    starts = range(max(1, len(terms) - MAX_SNIPPET_LINES + 1))

    def score(start: int) -> tuple[int, int]:
        window = terms[start : start + MAX_SNIPPET_LINES]
        return len(set().union(*window)), sum(map(len, window))

    return max(starts, key=score)


def _find_matches(content: str, terms: HighlightTerms) -> Iterator[TermMatch]:
    for pattern in terms.literals:
        for found in pattern.finditer(content):
            yield TermMatch(found.start(), found.end(), pattern.pattern)
    for word in _WORD.finditer(content):
        whole = stem(word.group().replace("_", "").casefold())
        if whole in terms.stems:
            yield TermMatch(word.start(), word.end(), whole)
            continue
        for part in _PART.finditer(content, word.start(), word.end()):
            name = stem(part.group().casefold())
            if name in terms.stems:
                yield TermMatch(part.start(), part.end(), name)
            else:
                yield from _find_han_terms(part, terms.han_terms)


def _find_han_terms(part: re.Match[str], terms: Sequence[str]) -> Iterator[TermMatch]:
    """Find Chinese terms anywhere in a word: Chinese is written without spaces."""
    for term in terms:
        place = part.group().find(term)
        if place >= 0:
            yield TermMatch(part.start() + place, part.start() + place + len(term), term)
