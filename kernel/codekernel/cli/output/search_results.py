"""Print search results as snippets, paths or JSON, and explain their scores.

A snippet is those lines of a hit that show the most terms of the query.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codekernel.cli.output import terminal
from codekernel.cli.output.syntax_colors import find_syntax_spans
from codekernel.cli.output.terminal import TerminalStyle, format_path, measure_width
from codekernel.domain.index import FRESH, Hit, Signal, format_symbol_path
from codekernel.domain.untrusted_text import escape_line, escape_path_for_terminal
from codekernel.search.query_parser import parse_query
from codekernel.search.query_syntax import parse_search_expression
from codekernel.search.word_forms import stem

# Columns of a line where there is no terminal: minified code must not flood a pipe.
DEFAULT_COLUMNS = 200

TAB_COLUMNS = 4

# Signals below this share of a score explain nothing.
MIN_SIGNAL_SHARE = 0.005

# What each signal means, in a sentence that begins with "because".
SIGNAL_DESCRIPTIONS = {
    Signal.LEXICAL: "it has words of the query",
    Signal.SEMANTIC: "its meaning is near",
    Signal.DEFINITION: "it defines what the query names",
    Signal.NAME_PARTS: "a name it defines is made of the query's words",
    Signal.FILE_NAME: "the file's name has words of the query",
    Signal.FOLDER: "the folder's name has words of the query",
    Signal.EXACT: "it holds what must stand there",
    Signal.MENTION: "the query names this place",
    Signal.FILE_TOTAL: "other parts of the file fit too",
    Signal.FILE_KIND: "of the kind of file (test, example, generated...)",
    Signal.FURTHER_CHUNK: "a better hit is in the same file",
    Signal.LEARNED: "files with such signals were right elsewhere",
    Signal.RERANKER: "the reranker agrees",
}


def format_paths(hits: Sequence[Hit], root: Path, screen: TerminalStyle) -> Iterator[str]:
    """Yield each file once, relative to the current folder; unescaped if not for a terminal."""
    for path in dict.fromkeys(hit.chunk.path for hit in hits):
        shown = format_path(root / path)
        yield screen.link(escape_path_for_terminal(shown), root / path) if screen.width else shown


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


def select_snippet(
    content: str, begin_line: int, terms: HighlightTerms, max_lines: int = MAX_SNIPPET_LINES
) -> Snippet:
    """Return the lines with the most different terms; ``begin_line`` counts from 0."""
    lines = _split_lines(content, begin_line)
    matches = tuple(sorted(_find_matches(content, terms), key=lambda match: match.begin))
    if not lines:
        return Snippet((), begin_line + 1, ())
    found = _group_terms_by_line(lines, matches)
    start = _find_best_window(found, max_lines)
    best = max(range(len(lines)), key=lambda place: len(found[place]))
    if not found[best]:
        best = start
    return Snippet(tuple(lines[start : start + max_lines]), lines[best].number, matches)


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


def _find_best_window(terms: Sequence[set[str]], max_lines: int) -> int:
    """Return the start of the lines with the most different terms, then with most of them."""
    starts = range(max(1, len(terms) - max_lines + 1))

    def score(start: int) -> tuple[int, int]:
        window = terms[start : start + max_lines]
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


def join_blocks(blocks: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of hits, with a blank line between two of them."""
    for place, lines in enumerate(blocks):
        if place:
            yield ""
        yield from lines


@dataclass(frozen=True, slots=True)
class SearchResultPage:
    """Formats hits for a person; ``max_lines`` of the first hit and of each further one."""

    root: Path
    terms: HighlightTerms
    screen: TerminalStyle
    explain: bool
    max_lines: tuple[int, int] = (MAX_SNIPPET_LINES, MAX_SNIPPET_LINES)

    def format_blocks(self, hits: Sequence[Hit]) -> list[list[str]]:
        """Return the lines of each hit."""
        return [
            list(self._format_hit(hit, self.max_lines[place > 0])) for place, hit in enumerate(hits)
        ]

    def _format_hit(self, hit: Hit, max_lines: int) -> Iterator[str]:
        snippet = select_snippet(hit.content, hit.chunk.begin_line, self.terms, max_lines)
        yield self._format_header(hit, snippet.best_line)
        if self.explain:
            for reason in explain_signals(hit.signals):
                yield self.screen.colorize(f"  {reason}", terminal.FAINT_COLOR)
        yield from self._format_snippet(hit, snippet)

    def _format_header(self, hit: Hit, line: int) -> str:
        file = self.root / hit.chunk.path
        place = self.screen.colorize(
            escape_path_for_terminal(format_path(file)), terminal.PATH_COLOR
        )
        number = self.screen.colorize(str(line), terminal.LINE_NUMBER_COLOR)
        rest = [escape_line(format_symbol_path(hit.chunk.symbols)), f"{hit.score:.2f}"]
        if hit.freshness != FRESH:
            rest.append(f"({hit.freshness})")
        return "  ".join([self.screen.link(f"{place}:{number}", file), *filter(None, rest)])

    def _format_snippet(self, hit: Hit, snippet: Snippet) -> Iterator[str]:
        colors = _map_colors(hit, snippet) if self.screen.has_colors else {}
        digits = len(str(snippet.lines[-1].number)) if snippet.lines else 0
        width = (self.screen.width or DEFAULT_COLUMNS) - digits - 3
        for line in snippet.lines:
            number = self.screen.colorize(f"{line.number:>{digits}}", terminal.LINE_NUMBER_COLOR)
            begins = (match.begin - line.begin for match in snippet.matches)
            first = next((begin for begin in begins if begin >= 0), 0)
            yield f"  {number} {self._colorize_line(line, colors, first, width)}".rstrip()

    def _colorize_line(
        self, line: SnippetLine, colors: dict[int, str], first_match: int, width: int
    ) -> str:
        """Return the line in its colors, cut to a width that shows its first match."""
        text, begin = line.text, 0
        pieces = [_escape_character(character) for character in text]
        if (
            first_match < len(text)
            and sum(map(measure_width, pieces[: first_match + 1])) > width - 2
        ):
            begin = first_match - width // 3
        parts: list[str] = ["…"] if begin else []
        left = width - len(parts)
        run, color = "", ""
        for place in range(begin, len(text)):
            left -= measure_width(pieces[place])
            if left < (place < len(text) - 1):
                run += "…"
                break
            new = colors.get(line.begin + place, "")
            if new != color:
                parts.append(self.screen.colorize(run, color))
                run, color = "", new
            run += pieces[place]
        return "".join((*parts, self.screen.colorize(run, color)))


def explain_signals(signals: Mapping[Signal, float]) -> list[str]:
    """Return a sentence for each signal, the largest first, with its share of the positive ones."""
    total = sum(value for value in signals.values() if value > 0)
    if total <= 0:
        return []
    shares = [(value / total, SIGNAL_DESCRIPTIONS[signal]) for signal, value in signals.items()]
    return [
        f"{share:+4.0%} {'because' if share > 0 else 'less because'} {description}"
        for share, description in sorted(shares, key=lambda each: -abs(each[0]))
        if abs(share) >= MIN_SIGNAL_SHARE
    ]


def _map_colors(hit: Hit, snippet: Snippet) -> dict[int, str]:
    """Return the color of each character of a hit that has one."""
    colors: dict[int, str] = {}
    for begin, end, color in find_syntax_spans(hit.content, hit.chunk.language):
        colors.update(dict.fromkeys(range(begin, end), color))
    for match in snippet.matches:
        colors.update(dict.fromkeys(range(match.begin, match.end), terminal.MATCH_COLOR))
    return colors


def _escape_character(character: str) -> str:
    return " " * TAB_COLUMNS if character == "\t" else escape_line(character)
