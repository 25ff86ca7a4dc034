"""Print search results as snippets, paths or JSON.

Choose the lines to show, highlight query terms and syntax, explain the score.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from codekernel.cli.output.terminal import (
    COMMENT_COLOR,
    FAINT_COLOR,
    KEYWORD_COLOR,
    LINE_NUMBER_COLOR,
    MATCH_COLOR,
    PATH_COLOR,
    STRING_COLOR,
    TerminalStyle,
    format_path,
    measure_width,
)
from codekernel.domain.index import FRESH, Hit, format_chunk_metadata, format_symbol_path
from codekernel.domain.untrusted_text import encode_path, escape_line, escape_path_for_terminal
from codekernel.search.highlight import highlight_text, list_marked_words
from codekernel.search.query_parser import parse_query, parse_search_expression
from codekernel.search.stopwords import stem

ColorSpan = tuple[int, int, str]

_HASH_COMMENT_LANGUAGES = (
    "python ruby bash perl r julia elixir make cmake dockerfile yaml toml terraform nix starlark "
    "fish nushell powershell crystal nim gdscript coffeescript awk tcl raku graphql meson ini"
)

_DASH_COMMENT_LANGUAGES = "sql lua haskell elm ada vhdl purescript"

_SEMICOLON_COMMENT_LANGUAGES = "lisp elisp scheme clojure racket assembly"

_SLASH_COMMENT_LANGUAGES = (
    "javascript jsx typescript tsx java kotlin go rust c cpp csharp php swift scala zig dart d v "
    "objc groovy solidity move glsl hlsl wgsl metal protobuf thrift fsharp verilog haxe cuda "
    "vue svelte astro scss less css reason apex jsonc"
)

_BLOCK_COMMENTS = {"--": r"--\[\[.*?\]\]|\{-.*?-\}|/\*.*?\*/", "//": r"/\*.*?(?:\*/|\Z)"}

_COMMENT_PREFIXES = {
    language: sign
    for languages, sign in (
        (_HASH_COMMENT_LANGUAGES, "#"),
        (_DASH_COMMENT_LANGUAGES, "--"),
        (_SEMICOLON_COMMENT_LANGUAGES, ";"),
        (_SLASH_COMMENT_LANGUAGES, "//"),
    )
    for language in languages.split()
}

# Where an apostrophe begins a lifetime, a label or a name, only a single character is a string.
_CHARACTER_LITERAL_LANGUAGES = (
    "rust c cpp csharp java kotlin go swift scala zig d v objc haskell elm fsharp lisp elisp "
    "scheme clojure racket assembly verilog ada vhdl cuda metal glsl hlsl wgsl reason"
)

_HAS_CHARACTER_LITERALS = frozenset(_CHARACTER_LITERAL_LANGUAGES.split())

_LONG_STRING = r'"""(?:\\.|[^\\])*?(?:"""|\Z)' + r"|'''(?:\\.|[^\\])*?(?:'''|\Z)"

_STRING = r'"(?:\\.|[^"\\\n])*"'

_QUOTED = r"'(?:\\.|[^'\\\n])*'"

_CHARACTER = r"'(?:\\[^\n]{1,8}?|[^'\\\n])'"

_BACKTICKS = r"`(?:\\.|[^`\\])*`"

# The words that structure code in most languages; a word that is a keyword in one of them and a
# name in another is left out.
_KEYWORD_LIST = (
    "abstract as async await begin break case catch class const continue def default defer "
    "defmodule defp del do elif else elsif elseif end enum except export extends extern false "
    "finally fn for foreach from func function global goto if impl implements import in include "
    "instanceof interface is lambda let local loop match mod module mut namespace new nil none "
    "None not null nullptr and or operator override package pass private protected protocol pub "
    "public raise readonly require rescue return sealed self static struct super switch template "
    "then this throw throws trait true True False try type typedef typename union unless unsafe "
    "until use using val var virtual void volatile when where while with yield SELECT FROM WHERE "
    "INSERT INTO UPDATE DELETE CREATE TABLE JOIN ON AND OR NOT NULL"
)

_KEYWORDS = frozenset(_KEYWORD_LIST.split())


def find_syntax_spans(text: str, language: str) -> Iterator[ColorSpan]:
    """Where a colour begins and ends, in order; nothing for prose."""
    sign = _COMMENT_PREFIXES.get(language)
    if sign is None:
        return
    for found in _compile_pattern(sign, language in _HAS_CHARACTER_LITERALS).finditer(text):
        kind = found.lastgroup
        if kind == "comment":
            yield found.start(), found.end(), COMMENT_COLOR
        elif kind == "string":
            yield found.start(), found.end(), STRING_COLOR
        elif found.group() in _KEYWORDS:
            yield found.start(), found.end(), KEYWORD_COLOR


@cache
def _compile_pattern(sign: str, apostrophe_is_a_character: bool) -> re.Pattern[str]:  # noqa: FBT001 - of a table
    # A hash inside a word, as in ``$#`` or a colour, begins no comment.
    line = rf"(?<![\w$\\]){re.escape(sign)}[^\n]*"
    comments = "|".join(filter(None, (_BLOCK_COMMENTS.get(sign), line)))
    quoted = _CHARACTER if apostrophe_is_a_character else _QUOTED
    strings = f"{_LONG_STRING}|{_STRING}|{quoted}|{_BACKTICKS}"
    return re.compile(
        rf"(?P<comment>{comments})|(?P<string>{strings})|(?P<word>\b[A-Za-z_]\w*)", re.DOTALL
    )


# Enough to recognise the place; ten hits of it fit on two screens.
MAX_SNIPPET_LINES = 12

_WORD = re.compile(r"\w+")

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

_HAN = re.compile("[\u3005\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A piece of the text that the query asked for, and by which of its words."""

    begin: int
    end: int
    word: str


@dataclass(frozen=True, slots=True)
class SnippetLine:
    """A line of the file, counted from 1, and where it begins in the text of the hit."""

    number: int
    begin: int
    text: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """The lines to show and the one to jump to."""

    lines: tuple[SnippetLine, ...]
    best_line: int
    matches: tuple[TermMatch, ...]


@dataclass(frozen=True, slots=True)
class HighlightTerms:
    """What of a query can be seen in a text: words by their stems, and what must stand there."""

    stems: frozenset[str]
    han_terms: tuple[str, ...]
    literals: tuple[re.Pattern[str], ...]


def parse_highlight_terms(text: str) -> HighlightTerms:
    """Take a query apart; WrongParam if it holds a regular expression that is not one."""
    request = parse_search_expression(text)
    query = parse_query(request.plain_text)
    exact = [re.compile(re.escape(each)) for each in request.exact_strings]
    return HighlightTerms(
        stems=query.stems,
        han_terms=tuple(term for term in query.terms if _HAN.search(term)),
        literals=(*exact, *([request.regex] if request.regex else [])),
    )


def select_snippet(content: str, begin_line: int, terms: HighlightTerms) -> Snippet:
    """The lines of ``content`` that say most about the query; ``begin_line`` counts from 0."""
    lines = _split_lines(content, begin_line)
    marks = tuple(sorted(_find_matches(content, terms), key=lambda mark: mark.begin))
    if not lines:
        return Snippet((), begin_line + 1, ())
    words = _group_words_by_line(lines, marks)
    start = _find_best_window(words)
    shown = lines[start : start + MAX_SNIPPET_LINES]
    best = max(range(len(lines)), key=lambda place: len(words[place]))
    if not words[best]:
        best = start
    return Snippet(tuple(shown), lines[best].number, marks)


def _split_lines(content: str, begin_line: int) -> list[SnippetLine]:
    """The lines without blank ones at both ends."""
    lines, begin = [], 0
    for place, text in enumerate(content.split("\n")):
        lines.append(SnippetLine(begin_line + place + 1, begin, text.removesuffix("\r")))
        begin += len(text) + 1
    while lines and not lines[-1].text.strip():
        lines.pop()
    while lines and not lines[0].text.strip():
        lines.pop(0)
    return lines


def _group_words_by_line(
    lines: Sequence[SnippetLine], marks: Sequence[TermMatch]
) -> list[set[str]]:
    words: list[set[str]] = [set() for _ in lines]
    begins = [line.begin for line in lines]
    for mark in marks:  # never in a blank line before the first
        words[bisect_right(begins, mark.begin) - 1].add(mark.word)
    return words


def _find_best_window(words: Sequence[set[str]]) -> int:
    """Where the lines begin that hold most different words, then most of them."""
    starts = range(max(1, len(words) - MAX_SNIPPET_LINES + 1))

    def worth(start: int) -> tuple[int, int]:
        window = words[start : start + MAX_SNIPPET_LINES]
        return len(set().union(*window)), sum(map(len, window))

    return max(starts, key=worth)


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
    """Chinese is written without blanks, so its words are looked for anywhere."""
    for term in terms:
        place = part.group().find(term)
        if place >= 0:
            yield TermMatch(part.start() + place, part.start() + place + len(term), term)


# Columns of a line where no terminal says how many there are: minified code must not flood a pipe.
DEFAULT_COLUMNS = 200

TAB_COLUMNS = 4

SCORE_DIGITS = 4  # as in the protocol

# Signals below this share of a score explain nothing.
MIN_SIGNAL_SHARE = 0.005

# What the names of the signals in search/ mean, in a sentence that begins with "because".
SIGNAL_DESCRIPTIONS = {
    "words": "it has words of the query",
    "meaning": "its meaning is near",
    "definition": "it defines what the query names",
    "name": "a name it defines is made of the query's words",
    "file name": "the file's name has words of the query",
    "folder": "the folder's name has words of the query",
    "exact": "it holds what must stand there",
    "mentioned": "the query names this place",
    "file as a whole": "other parts of the file fit too",
    "kind of file": "of the kind of file (test, example, generated...)",
    "further chunk of its file": "a better hit is in the same file",
    "nearness": "of the best ones it is near in meaning",
    "meaning of its path": "what its path says is near in meaning",
    "reranker": "the reranker agrees",
}


def format_paths(hits: Sequence[Hit], root: Path, screen: TerminalStyle) -> Iterator[str]:
    """Each file once, as a way from the current folder; a program gets it as it is."""
    for path in dict.fromkeys(hit.chunk.path for hit in hits):
        shown = format_path(root / path)
        yield screen.link(escape_path_for_terminal(shown), root / path) if screen.width else shown


def format_json(hits: Sequence[Hit], text: str, *, explain: bool) -> str:
    """The results of the protocol's search as one array; lines count from 0 there."""
    words = list_marked_words(text)
    return json.dumps([_make_result(hit, words, explain=explain) for hit in hits], indent=1)


@dataclass(frozen=True, slots=True)
class SearchResultPage:
    """Hits for a person."""

    root: Path
    terms: HighlightTerms
    screen: TerminalStyle
    explain: bool

    def format_lines(self, hits: Sequence[Hit]) -> Iterator[str]:
        """Everything to print, with a blank line between two hits."""
        for place, hit in enumerate(hits):
            if place:
                yield ""
            chunk = hit.chunk.chunk
            shown = select_snippet(hit.content, chunk.begin_line, self.terms)
            yield self._format_header(hit, shown.best_line)
            if self.explain:
                yield from (
                    self.screen.colorize(f"  {why}", FAINT_COLOR)
                    for why in explain_signals(hit.signals)
                )
            yield from self._format_snippet(hit, shown)

    def _format_header(self, hit: Hit, line: int) -> str:
        file = self.root / hit.chunk.path
        place = self.screen.colorize(escape_path_for_terminal(format_path(file)), PATH_COLOR)
        number = self.screen.colorize(str(line), LINE_NUMBER_COLOR)
        rest = [escape_line(format_symbol_path(hit.chunk.chunk.symbols)), f"{hit.score:.2f}"]
        if hit.freshness != FRESH:
            rest.append(f"({hit.freshness})")
        return "  ".join([self.screen.link(f"{place}:{number}", file), *filter(None, rest)])

    def _format_snippet(self, hit: Hit, shown: Snippet) -> Iterator[str]:
        codes = _map_colors(hit, shown) if self.screen.has_colors else {}
        wide = len(str(shown.lines[-1].number)) if shown.lines else 0
        room = (self.screen.width or DEFAULT_COLUMNS) - wide - 3
        for line in shown.lines:
            number = self.screen.colorize(f"{line.number:>{wide}}", LINE_NUMBER_COLOR)
            first = next((m.begin - line.begin for m in shown.matches if m.begin >= line.begin), 0)
            yield f"  {number} {self._colorize_line(line, codes, first, room)}".rstrip()

    def _colorize_line(
        self, line: SnippetLine, codes: dict[int, str], first_mark: int, room: int
    ) -> str:
        """The line in its colours, cut to the room there is, with its first mark in sight."""
        text, begin = line.text, 0
        pieces = [_escape_character(character) for character in text]
        if first_mark < len(text) and sum(map(measure_width, pieces[: first_mark + 1])) > room - 2:
            begin = first_mark - room // 3
        parts: list[str] = ["…"] if begin else []
        left = room - len(parts)
        run, code = "", ""
        for place in range(begin, len(text)):
            left -= measure_width(pieces[place])
            if left < (place < len(text) - 1):
                run += "…"
                break
            new = codes.get(line.begin + place, "")
            if new != code:
                parts.append(self.screen.colorize(run, code))
                run, code = "", new
            run += pieces[place]
        return "".join((*parts, self.screen.colorize(run, code)))


def explain_signals(signals: dict[str, float]) -> list[str]:
    """Why a hit is where it is, the weightiest first, each with its share of what speaks for it."""
    total = sum(value for value in signals.values() if value > 0)
    if total <= 0:
        return []
    telling = [
        (value / total, name)
        for name, value in signals.items()
        if abs(value) / total >= MIN_SIGNAL_SHARE
    ]
    telling.sort(key=lambda each: -abs(each[0]))
    return [
        (
            f"{share:+4.0%} {'because' if share > 0 else 'less because'} "
            f"{SIGNAL_DESCRIPTIONS.get(name, name)}"
        )
        for share, name in telling
    ]


def _map_colors(hit: Hit, shown: Snippet) -> dict[int, str]:
    """The colour of each character of a hit that has one."""
    codes: dict[int, str] = {}
    for begin, end, code in find_syntax_spans(hit.content, hit.chunk.language):
        codes.update(dict.fromkeys(range(begin, end), code))
    for mark in shown.matches:
        codes.update(dict.fromkeys(range(mark.begin, mark.end), MATCH_COLOR))
    return codes


def _escape_character(character: str) -> str:
    return " " * TAB_COLUMNS if character == "\t" else escape_line(character)


def _make_result(hit: Hit, words: Sequence[str], *, explain: bool) -> dict[str, Any]:
    chunk, path = hit.chunk, encode_path(hit.chunk.path)
    metadata = format_chunk_metadata(path, chunk.chunk)
    result: dict[str, Any] = {
        "content": hit.content,
        "highlightedContent": highlight_text(hit.content, words),
        "metadata": metadata,
        "highlightedMetadata": highlight_text(metadata, words),
        "beginLine": chunk.chunk.begin_line,
        "endLine": chunk.chunk.end_line,
        "filePath": path,
        "score": round(hit.score, SCORE_DIGITS),
        "chunkId": chunk.id,
        "symbol": format_symbol_path(chunk.chunk.symbols),
        "language": chunk.language,
        "freshness": hit.freshness,
    }
    if explain:
        result["why"] = {name: round(value, SCORE_DIGITS) for name, value in hit.signals.items()}
    return result
