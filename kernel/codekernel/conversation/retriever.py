"""Retrieve excerpts for the queries of one round.

Searches in parallel, results deduplicated over the turn, and each hit expanded from its chunk
to the whole definition.
"""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from codekernel.conversation.repository_access import RepositoryAccess
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import (
    Chunk,
    Hit,
    IndexedChunk,
    format_chunk_metadata,
    format_symbol_path,
)
from codekernel.domain.turn import Excerpt
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import Cancelled, StorageError, WrongParam
from codekernel.storage.catalog.catalog import Catalog

# What a question names: `@src/a.py`, `@src/a.py:3-9`, `@Session.close`; a mail address and a
# decorator's call are none.
_MENTION = re.compile(r"(?<![\w@])@([^\s@`\"'()\[\]{}<>]{2,300})")

_LINE_RANGE = re.compile(r"(:\d+)-\d+$")

# Each is a search; a question with more is a pasted text.
MAX_MENTIONS = 8

# Chunks before and after a hit that may belong to it: with those of 950 characters, a definition of
# about a hundred lines becomes whole, and a class of a thousand does not fill the window.
_MAX_CHUNKS_BEFORE = 1

_MAX_CHUNKS_AFTER = 3

_MAX_LINE_CHARS = 160


def find_mentions(question: str) -> tuple[str, ...]:
    """Return the queries for what a question names; ranges begin at their first line."""
    found = (match[1].rstrip(".,;:!?") for match in _MENTION.finditer(question))
    queries = (_LINE_RANGE.sub(r"\1", name) for name in found if len(name) > 1)
    return tuple(dict.fromkeys(queries))[:MAX_MENTIONS]


@dataclass(frozen=True, slots=True)
class LocatedExcerpt:
    """An excerpt and its enclosing definitions: ``Session>close; in class Session:``."""

    excerpt: Excerpt
    location: str


def expand_hit(
    hit: Hit, catalog: Catalog, highlight: Callable[[str], str] | None = None, *, expand: bool
) -> LocatedExcerpt:
    """The hit with what belongs to it, its words marked."""
    chunk, text = hit.chunk, ""
    pieces: Sequence[Chunk] = [chunk]
    siblings: list[IndexedChunk] = []
    if chunk.symbols and (expand or len(chunk.symbols) > 1):
        text, siblings = _read_hit_file(hit, catalog)
        pieces = _select_siblings(chunk, siblings) if expand else pieces
    first, last = pieces[0], pieces[-1]
    content = text[first.begin : last.end] if len(pieces) > 1 else hit.content
    path = encode_path(chunk.path)
    excerpt = Excerpt(
        path=path,
        begin_line=first.begin_line,
        end_line=last.end_line,
        content=content,
        metadata=format_chunk_metadata(path, chunk),
        score=hit.score,
        chunk_id=chunk.id,
        highlighted=highlight(content) if highlight else "",
    )
    enclosing = _find_enclosing_line(text, siblings, chunk.symbols, excerpt) if siblings else ""
    parts = [format_symbol_path(chunk.symbols), f"in {enclosing}" if enclosing else ""]
    return LocatedExcerpt(excerpt, "; ".join(part for part in parts if part))


def _read_hit_file(hit: Hit, catalog: Catalog) -> tuple[str, list[IndexedChunk]]:
    """Return the text and chunks of a hit's file; empty if it is indexed anew meanwhile."""
    chunk = hit.chunk
    try:
        file = catalog.find_file(chunk.path)
        text = catalog.read_document(file.id) if file else ""
        if file is None or text[chunk.begin : chunk.end] != hit.content:
            return "", []
        return text, catalog.list_chunks(file.id, chunk.max_chunk_chars)
    except StorageError:  # the index is being replaced; what was found can be shown as it is
        return "", []


def _find_enclosing_line(
    text: str, siblings: Sequence[Chunk], symbols: tuple[str, ...], excerpt: Excerpt
) -> str:
    """Return the line that begins the definition around, unless the excerpt has it itself."""
    *outer, _ = symbols
    for chunk in siblings:
        if not outer or outer[-1] not in chunk.defined_names:
            continue
        if chunk.symbols[: len(outer)] != tuple(outer):
            continue
        name = re.compile(rf"(?<!\w){re.escape(outer[-1])}(?!\w)")
        lines = text[chunk.begin : chunk.end].split("\n")
        for number, line in enumerate(lines, start=chunk.begin_line):
            if name.search(line):
                is_shown = excerpt.begin_line <= number < excerpt.end_line
                return "" if is_shown else " ".join(line.split())[:_MAX_LINE_CHARS]
    return ""


def _select_siblings(chunk: Chunk, siblings: Sequence[Chunk]) -> Sequence[Chunk]:
    """The chunk and its neighbours of the same definition."""
    place = next((i for i, each in enumerate(siblings) if each.begin == chunk.begin), None)
    if place is None:
        return [chunk]
    is_same = partial(_is_same_definition, chunk)
    before = list(takewhile(is_same, siblings[max(0, place - _MAX_CHUNKS_BEFORE) : place][::-1]))
    after = list(takewhile(is_same, siblings[place + 1 : place + 1 + _MAX_CHUNKS_AFTER]))
    return siblings[place - len(before) : place + 1 + len(after)]


def _is_same_definition(chunk: Chunk, neighbour: Chunk) -> bool:
    """Return whether a chunk continues the definition, rather than another of the same name."""
    return neighbour.symbols == chunk.symbols and (
        neighbour.signature == chunk.signature or not neighbour.defined_names
    )


# How often a wait for searches looks whether it is still wanted; a stop has 200 ms.
_CANCEL_POLL_INTERVAL_SECONDS = 0.02

# Hits of a round that are grown to whole definitions; the others only support them.
_MAX_EXPANDED_HITS = 4

_MIN_HITS_PER_QUERY = 3


@dataclass(frozen=True, slots=True)
class RoundResults:
    """The new results of a round by query, and a note on queries that failed."""

    by_query: tuple[tuple[str, tuple[LocatedExcerpt, ...]], ...]
    note: str = ""


class Retriever:
    """Searches for one turn, and returns no range of lines twice."""

    def __init__(
        self, repository: RepositoryAccess, results_per_round: int, cancel: CancelToken
    ) -> None:
        self._repository = repository
        self._results_per_round = results_per_round
        self._cancel = cancel
        self._seen_queries: set[str] = set()
        self._returned_ranges: dict[str, list[tuple[int, int]]] = {}

    def raise_if_cancelled(self) -> None:
        """Raise Cancelled if the turn was stopped."""
        if self._cancel.is_cancelled:
            raise Cancelled("the conversation was stopped")

    def filter_new_queries(self, queries: Sequence[str]) -> tuple[str, ...]:
        """Return the queries that have not been searched for."""
        return tuple(
            query for query in queries if _normalize_query(query) not in self._seen_queries
        )

    def retrieve(self, queries: Sequence[str]) -> RoundResults:
        """Run all queries in parallel. Raises Cancelled as soon as the turn is cancelled."""
        self._seen_queries |= {_normalize_query(query) for query in queries}
        limit = max(_MIN_HITS_PER_QUERY, -(-self._results_per_round // max(1, len(queries))))
        searches = self._search_in_parallel(queries, limit)
        by_query: list[tuple[str, tuple[LocatedExcerpt, ...]]] = []
        notes: list[str] = []
        expandable = _MAX_EXPANDED_HITS
        for query in queries:
            try:
                hits = searches[query].result()
            except WrongParam as error:
                notes.append(f"The query {query!r} cannot be searched for: {error}")
                hits = ()
            found: list[LocatedExcerpt] = []
            make = self._repository.make_highlighter
            mark = make(query) if make else None
            for hit in hits:
                if not self._is_duplicate(hit):
                    found.append(
                        expand_hit(hit, self._repository.get_catalog(), mark, expand=expandable > 0)
                    )
                    expandable -= 1
                    self._mark_returned(found[-1].excerpt)
            by_query.append((query, tuple(found)))
        return RoundResults(tuple(by_query), " ".join(notes))

    def _search_in_parallel(
        self, queries: Sequence[str], limit: int
    ) -> dict[str, Future[Sequence[Hit]]]:
        """Return searches that have ended. Raises Cancelled, without waiting for them."""
        threads = ThreadPoolExecutor(len(queries) or 1, thread_name_prefix="retrieval")
        searches = {
            # A terminal may give half characters.
            query: threads.submit(
                self._repository.search,
                query.encode(errors="replace").decode(),
                limit,
                self._cancel,
            )
            for query in queries
        }
        threads.shutdown(wait=False)
        self.raise_if_cancelled()
        while wait(searches.values(), _CANCEL_POLL_INTERVAL_SECONDS).not_done:
            self.raise_if_cancelled()
        return searches

    def _is_duplicate(self, hit: Hit) -> bool:
        chunk = hit.chunk
        return any(
            begin <= chunk.begin_line and chunk.end_line <= end
            for begin, end in self._returned_ranges.get(encode_path(hit.chunk.path), ())
        )

    def _mark_returned(self, excerpt: Excerpt) -> None:
        lines = (excerpt.begin_line, excerpt.end_line)
        self._returned_ranges.setdefault(excerpt.path, []).append(lines)


def _normalize_query(query: str) -> str:
    return " ".join(query.lower().split())
