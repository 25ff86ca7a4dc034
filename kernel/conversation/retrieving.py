"""The searches of one round: all at once, nothing twice, and given up as soon as nobody waits."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from kernel.conversation.place import Place
from kernel.conversation.surroundings import Placed, placed
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.domain.path_text import encode_path
from kernel.errors import Cancelled, WrongParam

# How often a wait for searches looks whether it is still wanted; a stop has 200 ms.
_LOOK_EVERY_SECONDS = 0.02
# Hits of a round that are grown to whole definitions; the others only support them.
_GROWN = 4
_FEWEST_HITS = 3

_Outcome = Sequence[Hit] | BaseException


@dataclass(frozen=True, slots=True)
class Findings:
    """What a round found: for each query what nobody had found before, and what went wrong."""

    by_query: tuple[tuple[str, tuple[Placed, ...]], ...]
    note: str = ""

    @property
    def anything(self) -> bool:
        """Whether there is anything new."""
        return any(found for _, found in self.by_query)


class Retriever:
    """Searches for one turn and remembers what it has given out."""

    def __init__(self, place: Place, results_per_round: int, cancel: CancelToken) -> None:
        self._place = place
        self._results_per_round = results_per_round
        self._cancel = cancel
        self._asked: set[str] = set()
        self._given: dict[str, list[tuple[int, int]]] = {}

    def unasked(self, queries: Sequence[str]) -> tuple[str, ...]:
        """Those that have not been searched for."""
        return tuple(query for query in queries if _normal(query) not in self._asked)

    def find(self, queries: Sequence[str]) -> Findings:
        """Run all queries side by side. Raises Cancelled at once when nobody waits any more."""
        self._asked |= {_normal(query) for query in queries}
        limit = max(_FEWEST_HITS, -(-self._results_per_round // max(1, len(queries))))
        outcomes = self._searched(queries, limit)
        by_query: list[tuple[str, tuple[Placed, ...]]] = []
        notes: list[str] = []
        grown = 0
        for query in queries:
            outcome = outcomes[query]
            if isinstance(outcome, WrongParam):
                notes.append(f"The query {query!r} cannot be searched for: {outcome}")
                outcome = ()
            if isinstance(outcome, BaseException):
                raise outcome
            found: list[Placed] = []
            mark = self._place.mark_words(query) if self._place.mark_words else None
            for hit in outcome:
                if self._is_given(hit):
                    continue
                found.append(placed(hit, self._place.catalogue, mark, grow=grown < _GROWN))
                grown += 1
                self._give(found[-1])
            by_query.append((query, tuple(found)))
        return Findings(tuple(by_query), " ".join(notes))

    def _searched(self, queries: Sequence[str], limit: int) -> dict[str, _Outcome]:
        done: SimpleQueue[tuple[str, _Outcome]] = SimpleQueue()

        def look_for(query: str) -> None:
            try:
                words = query.encode(
                    errors="replace"
                ).decode()  # a terminal may give half characters
                done.put((query, self._place.search(words, limit, self._cancel)))
            except BaseException as error:  # raised again by whoever waits for the result
                done.put((query, error))
                if not isinstance(error, Exception):
                    raise

        for query in queries:
            threading.Thread(target=look_for, args=(query,), name="retrieval", daemon=True).start()
        outcomes: dict[str, _Outcome] = {}
        while len(outcomes) < len(queries):
            if self._cancel.cancelled:
                raise Cancelled("the conversation was stopped")
            try:
                query, outcome = done.get(timeout=_LOOK_EVERY_SECONDS)
            except Empty:
                continue
            outcomes[query] = outcome
        return outcomes

    def _is_given(self, hit: Hit) -> bool:
        chunk = hit.chunk.chunk
        return any(
            begin <= chunk.begin_line and chunk.end_line <= end
            for begin, end in self._given.get(encode_path(hit.chunk.path), ())
        )

    def _give(self, found: Placed) -> None:
        excerpt = found.excerpt
        self._given.setdefault(excerpt.path, []).append((excerpt.begin_line, excerpt.end_line))


def _normal(query: str) -> str:
    return " ".join(query.lower().split())
