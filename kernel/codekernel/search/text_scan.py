"""Find chunks whose text contains exact strings or matches a regular expression.

Files are scanned in path order within a timeout; where whole words are known, the lexical index
selects the files first.
"""

import re
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import IndexedChunk
from codekernel.domain.lexical_tokenizer import MAX_WORD_CHARS, tokenize_query
from codekernel.errors import Cancelled
from codekernel.search.boosts import classify_path
from codekernel.search.query_parser import SearchExpression
from codekernel.search.safe_regex import choose_piece_length, extract_literals, split_line
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.lexical.lexical_index import MAX_QUERY_TERMS, LexicalIndex

# After this people would rather see what there is. In that time 300 MB of text are gone
# through for a string, 30 for an expression that holds no text of its own (curl, 5 MB: 33, 330 ms).
SCAN_TIMEOUT_SECONDS = 2.0

# How often the clock is looked at within a long file.
LINES_PER_TIMEOUT_CHECK = 500

# More matches than anybody reads; the order among them is then that of the paths.
MAX_MATCHES = 1_000

# Words that are in more chunks than this narrow nothing down.
MAX_PREFILTERED_CHUNKS = 20_000

_MIN_WORD_CHARS = 3

# A word that cannot be a part of a longer one: other ASCII stands on both sides of it.
_WORD_BOUNDARY = r"[\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]"

_WHOLE_WORD = re.compile(
    rf"(?<={_WORD_BOUNDARY})\w{{{_MIN_WORD_CHARS},{MAX_WORD_CHARS}}}(?={_WORD_BOUNDARY})", re.ASCII
)


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A chunk and the first of its lines that matches, counted from 0 as in chunks."""

    chunk: IndexedChunk
    line: int
    is_definition: bool


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What was found: definitions first, tests last, then by path; and whether that is all."""

    matches: list[TextMatch]
    is_complete: bool


def scan_texts(  # noqa: PLR0913 - where, what, and how long
    catalogue: Catalog,
    lexical: LexicalIndex,
    request: SearchExpression,
    limit: int,
    cancel: CancelToken,
    *,
    budget_seconds: float = SCAN_TIMEOUT_SECONDS,
) -> ScanResult:
    """The first ``limit`` chunks that the request's filters allow and in which everything stands.

    Raises Cancelled between two files.
    """
    look = _TextScanner(request, time.monotonic() + budget_seconds)
    found: list[TextMatch] = []
    is_complete = True
    for among, without in _prefilter_files(catalogue, lexical, request):
        matches = _find_matches(catalogue, look, among, without, cancel)
        with closing(matches):
            for match in matches:
                found.append(match)
                if len(found) >= MAX_MATCHES:
                    break
        if look.is_timed_out or len(found) >= MAX_MATCHES:
            is_complete = False
            break
    found.sort(key=_sort_key)
    return ScanResult(found[:limit], is_complete and len(found) <= limit)


class _TextScanner:
    """How one text is looked through."""

    def __init__(self, request: SearchExpression, deadline: float) -> None:
        self.request = request
        self.is_timed_out = False
        self._deadline = deadline
        self._pattern = request.regex
        self._max_line_chars = choose_piece_length(request.regex) if request.regex else 0
        # Where capitals do not matter, only ASCII is sure to be the same in small letters.
        held = extract_literals(request.regex) if request.regex else []
        self._ignores_case = bool(self._pattern and self._pattern.flags & re.IGNORECASE)
        self._required_literals = (
            [text.lower() for text in held if text.isascii()] if self._ignores_case else held
        )

    def has_time_left(self) -> bool:
        """Whether there is time left; once there is none, ``is_over``."""
        self.is_timed_out = self.is_timed_out or time.monotonic() >= self._deadline
        return not self.is_timed_out

    def can_match(self, text: str) -> bool:
        """Whether it is worth looking at the parts of a text."""
        if any(exact not in text for exact in self.request.exact_strings):
            return False
        if not self._required_literals:
            return True
        plain = text.lower() if self._ignores_case else text
        return all(held in plain for held in self._required_literals)

    def find_line(self, text: str) -> int | None:
        """The first line of ``text`` that matches; None if not everything stands in the text."""
        if not self.can_match(text):
            return None
        if self._pattern is None:
            return text.count("\n", 0, text.find(self.request.exact_strings[0]))
        plain = (text.lower() if self._ignores_case else text).split("\n")
        for number, line in enumerate(text.split("\n")):
            if number % LINES_PER_TIMEOUT_CHECK == 0 and not self.has_time_left():
                return None
            if all(held in plain[number] for held in self._required_literals) and self.is_match(
                line
            ):
                return number
        return None

    def is_match(self, line: str) -> bool:
        """Whether the expression matches within a line."""
        pattern = self._pattern
        if pattern is None:
            return False
        if len(line) <= self._max_line_chars:
            return pattern.search(line) is not None
        return any(map(pattern.search, split_line(line, self._max_line_chars)))

    def is_defined_in(self, chunk: IndexedChunk) -> bool:
        """Whether what is looked for is, or is in, a name that the chunk defines."""
        lines = (
            (*chunk.chunk.defined_names, chunk.chunk.signature) if chunk.chunk.defined_names else ()
        )
        return any(
            self.is_match(line) or any(exact in line for exact in self.request.exact_strings)
            for line in lines
        )


def _find_matches(
    catalogue: Catalog,
    scanner: _TextScanner,
    file_ids: Collection[int] | None,
    excluded_ids: Collection[int],
    cancel: CancelToken,
) -> Generator[TextMatch, None, None]:
    filters = scanner.request.filters
    with closing(catalogue.iterate_documents(filters.accepts_file, file_ids)) as documents:
        for file_id, _, text in documents:
            if cancel.is_cancelled:
                raise Cancelled("the search was cancelled")
            if not scanner.has_time_left():
                return
            if file_id in excluded_ids or not scanner.can_match(text):
                continue
            for chunk in _select_one_chunk_size(catalogue.list_chunks(file_id)):
                line = scanner.find_line(text[chunk.chunk.begin : chunk.chunk.end])
                if line is not None and filters.accepts(chunk):
                    yield TextMatch(
                        chunk, chunk.chunk.begin_line + line, scanner.is_defined_in(chunk)
                    )


def _prefilter_files(
    catalogue: Catalog, lexical: LexicalIndex, request: SearchExpression
) -> Iterator[tuple[Collection[int] | None, Collection[int]]]:
    """Which files to look at, and which of those were looked at before: likely ones first.

    A string may begin or end inside a word, so the words at its ends only tell what is likely.
    """
    texts = (*request.exact_strings, *(extract_literals(request.regex) if request.regex else ()))
    sure = _find_files_with(catalogue, lexical, _extract_whole_words(texts))
    if sure is not None:
        yield sure, ()
        return
    likely = _find_files_with(
        catalogue, lexical, _extract_whole_words([f" {text} " for text in texts])
    )
    if likely:
        yield likely, ()
    yield None, likely or ()


def _find_files_with(
    catalogue: Catalog, lexical: LexicalIndex, words: Sequence[str]
) -> set[int] | None:
    """The files with all the words in one chunk; None if that would be no help."""
    terms = tokenize_query(" ".join(words))
    if not terms or len(terms) > MAX_QUERY_TERMS:
        return None
    chunks = lexical.search_all(terms, MAX_PREFILTERED_CHUNKS)
    return None if len(chunks) >= MAX_PREFILTERED_CHUNKS else catalogue.find_files_of_chunks(chunks)


def _extract_whole_words(texts: Sequence[str]) -> list[str]:
    return [word for text in texts for word in _WHOLE_WORD.findall(text)]


def _select_one_chunk_size(chunks: Sequence[IndexedChunk]) -> list[IndexedChunk]:
    """The chunks of the shortest input length, so that no lines come twice."""
    shortest = min((chunk.max_chunk_chars for chunk in chunks), default=0)
    return [chunk for chunk in chunks if chunk.max_chunk_chars == shortest]


def _sort_key(match: TextMatch) -> tuple[bool, bool, str, int]:
    path = match.chunk.path
    return classify_path(path).is_test, not match.is_definition, path, match.chunk.chunk.begin
