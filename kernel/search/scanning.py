"""Chunks in whose very text something stands: exact strings, a regular expression.

The texts are gone through file by file, in the order of their paths, within a budget of time. Where
the request holds whole words, the index of words says first in which files they are.
"""

import re
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from kernel.domain.cancel import CancelToken
from kernel.domain.indexed import IndexedChunk
from kernel.domain.terms import query_terms
from kernel.domain.terms_cased import LONGEST_WORD
from kernel.errors import Cancelled
from kernel.search.patterns import literals, piece_length, pieces
from kernel.search.places import place_of
from kernel.search.request import Request
from kernel.storage.catalogue import Catalogue
from kernel.storage.lexical_index import MOST_TERMS, LexicalIndex

# After this people would rather see what there is. In that time 300 MB of text are gone
# through for a string, 30 for an expression that holds no text of its own (curl, 5 MB: 33, 330 ms).
BUDGET_SECONDS = 2.0
# How often the clock is looked at within a long file.
LINES_BETWEEN_LOOKS = 500
# More matches than anybody reads; the order among them is then that of the paths.
MOST_MATCHES = 1_000
# Words that are in more chunks than this narrow nothing down.
MOST_CHUNKS_WITH_WORDS = 20_000
_SHORTEST_WORD = 3

# A word that cannot be a part of a longer one: other ASCII stands on both sides of it.
_BETWEEN_WORDS = r"[\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]"
_WHOLE_WORD = re.compile(
    rf"(?<={_BETWEEN_WORDS})\w{{{_SHORTEST_WORD},{LONGEST_WORD}}}(?={_BETWEEN_WORDS})", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Match:
    """A chunk and the first of its lines that matches, counted from 0 as in chunks."""

    chunk: IndexedChunk
    line: int
    is_definition: bool


@dataclass(frozen=True, slots=True)
class Scan:
    """What was found: definitions first, tests last, then by path; and whether that is all."""

    matches: list[Match]
    is_complete: bool


def scan(  # noqa: PLR0913 - where, what, and how long
    catalogue: Catalogue,
    lexical: LexicalIndex,
    request: Request,
    limit: int,
    cancel: CancelToken,
    *,
    budget_seconds: float = BUDGET_SECONDS,
) -> Scan:
    """The first ``limit`` chunks that the request's filters allow and in which everything stands.

    Raises Cancelled between two files.
    """
    look = _Look(request, time.monotonic() + budget_seconds)
    found: list[Match] = []
    is_complete = True
    for among, without in _portions(catalogue, lexical, request):
        matches = _matches(catalogue, look, among, without, cancel)
        with closing(matches):
            for match in matches:
                found.append(match)
                if len(found) >= MOST_MATCHES:
                    break
        if look.is_over or len(found) >= MOST_MATCHES:
            is_complete = False
            break
    found.sort(key=_order)
    return Scan(found[:limit], is_complete and len(found) <= limit)


class _Look:
    """How one text is looked through."""

    def __init__(self, request: Request, deadline: float) -> None:
        self.request = request
        self.is_over = False
        self._deadline = deadline
        self._pattern = request.pattern
        self._length = piece_length(request.pattern) if request.pattern else 0
        # Where capitals do not matter, only ASCII is sure to be the same in small letters.
        held = literals(request.pattern) if request.pattern else []
        self._any_case = bool(self._pattern and self._pattern.flags & re.IGNORECASE)
        self._held = [text.lower() for text in held if text.isascii()] if self._any_case else held

    def in_time(self) -> bool:
        """Whether there is time left; once there is none, ``is_over``."""
        self.is_over = self.is_over or time.monotonic() >= self._deadline
        return not self.is_over

    def may_match(self, text: str) -> bool:
        """Whether it is worth looking at the parts of a text."""
        if any(exact not in text for exact in self.request.exact):
            return False
        if not self._held:
            return True
        plain = text.lower() if self._any_case else text
        return all(held in plain for held in self._held)

    def line(self, text: str) -> int | None:
        """The first line of ``text`` that matches; None if not everything stands in the text."""
        if not self.may_match(text):
            return None
        if self._pattern is None:
            return text.count("\n", 0, text.find(self.request.exact[0]))
        plain = (text.lower() if self._any_case else text).split("\n")
        for number, line in enumerate(text.split("\n")):
            if number % LINES_BETWEEN_LOOKS == 0 and not self.in_time():
                return None
            if all(held in plain[number] for held in self._held) and self.stands_in(line):
                return number
        return None

    def stands_in(self, line: str) -> bool:
        """Whether the expression matches within a line."""
        pattern = self._pattern
        if pattern is None:
            return False
        if len(line) <= self._length:
            return pattern.search(line) is not None
        return any(map(pattern.search, pieces(line, self._length)))

    def is_defined_by(self, chunk: IndexedChunk) -> bool:
        """Whether what is looked for is, or is in, a name that the chunk defines."""
        lines = (*chunk.chunk.defines, chunk.chunk.signature) if chunk.chunk.defines else ()
        return any(
            self.stands_in(line) or any(exact in line for exact in self.request.exact)
            for line in lines
        )


def _matches(
    catalogue: Catalogue,
    look: _Look,
    among: Collection[int] | None,
    without: Collection[int],
    cancel: CancelToken,
) -> Generator[Match, None, None]:
    filters = look.request.filters
    with closing(catalogue.documents(filters.accepts_file, among)) as documents:
        for file_id, _, text in documents:
            if cancel.cancelled:
                raise Cancelled("the search was cancelled")
            if not look.in_time():
                return
            if file_id in without or not look.may_match(text):
                continue
            for chunk in _of_one_cut(catalogue.chunks_of(file_id)):
                line = look.line(text[chunk.chunk.begin : chunk.chunk.end])
                if line is not None and filters.accepts(chunk):
                    yield Match(chunk, chunk.chunk.begin_line + line, look.is_defined_by(chunk))


def _portions(
    catalogue: Catalogue, lexical: LexicalIndex, request: Request
) -> Iterator[tuple[Collection[int] | None, Collection[int]]]:
    """Which files to look at, and which of those were looked at before: likely ones first.

    A string may begin or end inside a word, so the words at its ends only tell what is likely.
    """
    texts = (*request.exact, *(literals(request.pattern) if request.pattern else ()))
    sure = _files_with(catalogue, lexical, _words(texts))
    if sure is not None:
        yield sure, ()
        return
    likely = _files_with(catalogue, lexical, _words([f" {text} " for text in texts]))
    if likely:
        yield likely, ()
    yield None, likely or ()


def _files_with(
    catalogue: Catalogue, lexical: LexicalIndex, words: Sequence[str]
) -> set[int] | None:
    """The files with all the words in one chunk; None if that would be no help."""
    terms = query_terms(" ".join(words))
    if not terms or len(terms) > MOST_TERMS:
        return None
    chunks = lexical.search_all(terms, MOST_CHUNKS_WITH_WORDS)
    return None if len(chunks) >= MOST_CHUNKS_WITH_WORDS else catalogue.files_of(chunks)


def _words(texts: Sequence[str]) -> list[str]:
    return [word for text in texts for word in _WHOLE_WORD.findall(text)]


def _of_one_cut(chunks: Sequence[IndexedChunk]) -> list[IndexedChunk]:
    """The chunks of the shortest input length, so that no lines come twice."""
    shortest = min((chunk.input_length for chunk in chunks), default=0)
    return [chunk for chunk in chunks if chunk.input_length == shortest]


def _order(match: Match) -> tuple[bool, bool, str, int]:
    path = match.chunk.path
    return place_of(path).is_test, not match.is_definition, path, match.chunk.chunk.begin
