"""A chunk that answers a query."""

from dataclasses import dataclass, field

from kernel.domain.indexed import IndexedChunk

FRESH = "fresh"
CHANGED = "changed since indexed"
PENDING = "embedding pending"


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked chunk with its text; ``score`` is 0..1 and falls from hit to hit."""

    chunk: IndexedChunk
    content: str
    score: float
    freshness: str
    # What the score is made of, by name; see search/ranking.py.
    signals: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a query: hits, best first, and which words of it to mark in them."""

    hits: list[Hit]
    words: list[str]
    # Whether these are all places of an exact string or an expression: there may be more than were
    # wanted, or too little time to look through a large repository.
    is_complete: bool = True
