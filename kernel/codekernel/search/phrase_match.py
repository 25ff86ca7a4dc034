"""Find the chunks in which words of the query stand word for word.

A pasted message or comment is answered by the line that holds it, whatever else has its words.
"""

from collections.abc import Mapping, Sequence

from codekernel.domain.index import Signal
from codekernel.search.boosts import BoostedChunk, classify_path
from codekernel.search.query_parser import Query, QueryKind
from codekernel.search.retrieval import ScoredIds

# As many words in a row are no accident; two are, and often.
WINDOW_WORDS = 3

# Fewer words in all say little: "the name of the" stands everywhere.
MIN_PHRASE_WORDS = 4

# Of a longer text only the beginning is compared.
MAX_PHRASE_WORDS = 40

# A smaller part of the query may stand anywhere.
MIN_PHRASE_SHARE = 0.5

# The best lexical candidates are compared: a chunk with all words in a row is among them. Of 448
# texts of the 32 repositories (`bench.py quality --phrases`) the place comes first for 95.5 % with
# 8 and for 96.2 % with 15; each costs some 20 microseconds.
MAX_COMPARED_CHUNKS = 8

# In units of the best score: more than all other boosts together.
PHRASE_BOOST = 3.0

_PHRASE_KINDS = frozenset({QueryKind.PROSE, QueryKind.ERROR})

_TO_WORDS = bytes(
    code if chr(code).isalnum() or code >= 0x80 else 0x20  # noqa: PLR2004 - ASCII
    for code in range(256)
)


def normalize_words(text: str) -> bytes:
    """Return the words of a text in lower case, separated and surrounded by one blank."""
    words = text.lower().encode(errors="replace").translate(_TO_WORDS).split()
    return b" %b " % b" ".join(words)


def select_phrase_candidates(query: Query, lexical: ScoredIds) -> list[int]:
    """Return the chunks that may hold the query's words; none if it is no phrase."""
    if query.kind not in _PHRASE_KINDS or len(query.terms) < MIN_PHRASE_WORDS:
        return []
    return [number for number, _ in lexical[:MAX_COMPARED_CHUNKS]]


def measure_phrases(query: Query, texts: Mapping[int, str]) -> dict[int, float]:
    """Return how much of the query stands word for word in each text, 0..1, if it is much."""
    words = normalize_words(query.semantic_query).split()[:MAX_PHRASE_WORDS]
    windows = [
        b" %b " % b" ".join(words[begin : begin + WINDOW_WORDS])
        for begin in range(len(words) - WINDOW_WORDS + 1)
    ]
    shares: dict[int, float] = {}
    for number, text in texts.items():
        normalized = normalize_words(text)
        covered: set[int] = set()
        for begin, window in enumerate(windows):
            if window in normalized:
                covered.update(range(begin, begin + WINDOW_WORDS))
        share = len(covered) / len(words) if words else 0.0
        if len(covered) >= MIN_PHRASE_WORDS and share >= MIN_PHRASE_SHARE:
            shares[number] = share
    return shares


def boost_phrases(
    boosted: Sequence[BoostedChunk], shares: Mapping[int, float]
) -> list[BoostedChunk]:
    """Return the chunks with those raised that hold the most of the query word for word.

    Code alone: documents and lists of changes say what people say, and tests repeat messages.
    """
    code = {
        chunk.id: shares[chunk.id]
        for chunk, _, _ in boosted
        if chunk.id in shares and classify_path(chunk.path).is_code
    }
    best = max(code.values(), default=0.0)
    holders = {number for number, share in code.items() if share == best}
    unit = max((score for _, score, _ in boosted), default=0.0)
    gain = PHRASE_BOOST * unit * best / max(1, len(holders))
    return [
        (chunk, score + gain, {**signals, Signal.EXACT: gain})
        if chunk.id in holders
        else (chunk, score, signals)
        for chunk, score, signals in boosted
    ]
