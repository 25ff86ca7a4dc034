"""Find the chunks that contain exact strings and match a regular expression.

Files are scanned in path order within a timeout; where whole words are known, the lexical index
selects the files first.
"""

import re
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import NamedTuple

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import IndexedChunk
from codekernel.domain.lexical_tokenizer import MAX_WORD_CHARS, tokenize_query
from codekernel.errors import Cancelled
from codekernel.search.boosts import classify_path
from codekernel.search.query_syntax import SearchExpression
from codekernel.search.safe_regex import choose_piece_length, extract_literals, split_line
from codekernel.search.searchable import SearchableCatalog, SearchableStore
from codekernel.storage.lexical_index import MAX_QUERY_TERMS

# Then the matches so far are the answer. In that time 300 MB of text are scanned for a string, 30
# for a regex without literal text (curl, 5 MB: 33, 330 ms).
SCAN_TIMEOUT_SECONDS = 2.0

# How often the clock is read within a long file.
LINES_PER_TIMEOUT_CHECK = 500

# More matches than a person reads; beyond them the order is that of the paths.
MAX_MATCHES = 1_000

# Words in more chunks than this select too little.
MAX_PREFILTERED_CHUNKS = 20_000

# Of a regex; they are looked for in the hits alone.
MAX_HIGHLIGHTED_MATCHES = 32
HIGHLIGHT_TIMEOUT_SECONDS = 0.05

_MIN_WORD_CHARS = 3

# A word that is no part of a longer one: other ASCII characters are on both sides of it.
_WORD_BOUNDARY = r"[\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]"

_WHOLE_WORD = re.compile(
    rf"(?<={_WORD_BOUNDARY})\w{{{_MIN_WORD_CHARS},{MAX_WORD_CHARS}}}(?={_WORD_BOUNDARY})", re.ASCII
)


class ScanResult(NamedTuple):
    """Matching chunks, definitions first, tests last, then by path; and whether these are all."""

    chunks: list[IndexedChunk]
    is_complete: bool


def scan_texts(
    store: SearchableStore,
    expression: SearchExpression,
    limit: int,
    cancel: CancelToken,
    *,
    budget_seconds: float = SCAN_TIMEOUT_SECONDS,
) -> ScanResult:
    """Return the first chunks that the filters accept and in which everything is found.

    Raises Cancelled between two files.
    """
    scanner = _TextScanner(expression, time.monotonic() + budget_seconds)
    found: list[IndexedChunk] = []
    is_complete = True
    texts = (*expression.exact_strings, *scanner.literals)
    for file_ids, scanned_ids in _prefilter_files(store, texts):
        with closing(
            _iterate_matches(store.catalog, scanner, file_ids, scanned_ids, cancel)
        ) as matches:
            found += islice(matches, MAX_MATCHES - len(found))
        if scanner.is_timed_out or len(found) >= MAX_MATCHES:
            is_complete = False
            break
    found.sort(
        key=lambda chunk: (
            classify_path(chunk.path).is_test,
            not scanner.is_defined_in(chunk),
            chunk.path,
            chunk.begin,
        )
    )
    return ScanResult(found[:limit], is_complete and len(found) <= limit)


def find_regex_matches(expression: SearchExpression, texts: Iterable[str]) -> list[str]:
    """Return what the regex matches in these texts, to highlight it; each once."""
    pattern = expression.regex
    if pattern is None:
        return []
    deadline = time.monotonic() + HIGHLIGHT_TIMEOUT_SECONDS
    found: dict[str, None] = {}
    length = choose_piece_length(pattern)
    for line in (line for text in texts for line in text.split("\n")):
        if len(found) >= MAX_HIGHLIGHTED_MATCHES or time.monotonic() > deadline:
            break
        for piece in split_line(line, length):
            found |= dict.fromkeys(
                match[0] for match in pattern.finditer(piece) if match[0].strip()
            )
    return list(found)


class _TextScanner:
    """Matches texts with the exact strings and the regex of one query until a deadline."""

    def __init__(self, expression: SearchExpression, deadline: float) -> None:
        self.expression = expression
        self.is_timed_out = False
        self._deadline = deadline
        self._pattern = pattern = expression.regex
        self._max_line_chars = choose_piece_length(pattern) if pattern else 0
        self.literals = self._required_literals = extract_literals(pattern) if pattern else []
        self._ignores_case = bool(pattern and pattern.flags & re.IGNORECASE)
        if self._ignores_case:  # then only ASCII is sure to be the same in lower case
            self._required_literals = [text.lower() for text in self.literals if text.isascii()]

    def has_time_left(self) -> bool:
        """Return whether there is time left, and note in ``is_timed_out`` if there is none."""
        self.is_timed_out = self.is_timed_out or time.monotonic() >= self._deadline
        return not self.is_timed_out

    def can_match(self, text: str) -> bool:
        """Return whether the text has all exact strings and all literal parts of the regex."""
        has_exact = all(exact in text for exact in self.expression.exact_strings)
        return has_exact and self._has_literals(text)

    def is_match(self, text: str) -> bool:
        """Return whether everything is found in the text, the regex within one line."""
        if not self.can_match(text):
            return False
        for number, line in enumerate(text.split("\n") if self._pattern else ()):
            if number % LINES_PER_TIMEOUT_CHECK == 0 and not self.has_time_left():
                return False
            if self._has_literals(line) and self._is_line_match(line):
                return True
        return self._pattern is None

    def is_defined_in(self, chunk: IndexedChunk) -> bool:
        """Return whether a name that the chunk defines, or its signature, matches."""
        lines = (*chunk.defined_names, chunk.signature) if chunk.defined_names else ()
        return any(
            self._is_line_match(line)
            or any(exact in line for exact in self.expression.exact_strings)
            for line in lines
        )

    def _has_literals(self, text: str) -> bool:
        if self._ignores_case and self._required_literals:
            text = text.lower()
        return all(literal in text for literal in self._required_literals)

    def _is_line_match(self, line: str) -> bool:
        pieces = split_line(line, self._max_line_chars)
        return self._pattern is not None and any(map(self._pattern.search, pieces))


def _iterate_matches(
    catalog: SearchableCatalog,
    scanner: _TextScanner,
    file_ids: Collection[int] | None,
    scanned_ids: Collection[int],
    cancel: CancelToken,
) -> Generator[IndexedChunk, None, None]:
    filters = scanner.expression.filters
    with closing(catalog.iterate_documents(filters.accepts_file, file_ids)) as documents:
        for file_id, _, text in documents:
            if cancel.is_cancelled:
                raise Cancelled("the search was cancelled")
            if not scanner.has_time_left():
                return
            if file_id in scanned_ids or not scanner.can_match(text):
                continue
            for chunk in _select_one_chunk_size(catalog.list_chunks(file_id)):
                if scanner.is_match(text[chunk.begin : chunk.end]) and filters.accepts(chunk):
                    yield chunk


def _prefilter_files(
    store: SearchableStore, texts: Sequence[str]
) -> Iterator[tuple[Collection[int] | None, Collection[int]]]:
    """Yield the files to scan (None for all) and those of them scanned before, likely ones first.

    A string may begin or end inside of a word, so the words at its ends only tell what is likely.
    """
    certain = _find_files_with(store, texts)
    if certain is not None:
        yield certain, ()
        return
    likely = _find_files_with(store, [f" {text} " for text in texts])
    if likely:
        yield likely, ()
    yield None, likely or ()


def _find_files_with(store: SearchableStore, texts: Sequence[str]) -> set[int] | None:
    """Return the files with all whole words of the texts in one chunk; None if that is no help."""
    words = [word for text in texts for word in _WHOLE_WORD.findall(text)]
    terms = tokenize_query(" ".join(words))
    if not terms or len(terms) > MAX_QUERY_TERMS:
        return None
    chunks = store.lexical.search_all(terms, MAX_PREFILTERED_CHUNKS)
    if len(chunks) >= MAX_PREFILTERED_CHUNKS:
        return None
    return store.catalog.find_files_of_chunks(chunks)


def _select_one_chunk_size(chunks: Sequence[IndexedChunk]) -> list[IndexedChunk]:
    """Return the chunks of the smallest chunk size, so that no lines come twice."""
    smallest = min((chunk.max_chunk_chars for chunk in chunks), default=0)
    return [chunk for chunk in chunks if chunk.max_chunk_chars == smallest]
