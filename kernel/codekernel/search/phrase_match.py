"""Find the chunks in which words of the query stand word for word.

A pasted message or comment is answered by the line that holds it, whatever else has its words.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from codekernel.domain.index import IndexedChunk, Signal
from codekernel.search.boosts import BoostedChunk, classify_path
from codekernel.search.query_parser import Query, QueryKind
from codekernel.search.query_syntax import strip_variable_values
from codekernel.search.retrieval import ScoredIds

# As many words in a row are no accident; two are, and often.
WINDOW_WORDS = 3

# Fewer words in all say little: "the name of the" stands everywhere.
MIN_PHRASE_WORDS = 4

# Of a longer text only the beginning is compared.
MAX_PHRASE_WORDS = 40

# A smaller part of the query may stand anywhere.
MIN_PHRASE_SHARE = 0.5

# The best lexical candidates are compared: a chunk with all words in a row is among them. Code has
# the first claim; tests and scripts are compared for what no code holds. Of 448 texts of the 32
# repositories (`bench.py quality --phrases`) the place comes first for 98.9 % with 12 and 4, 98.2 %
# with 8 and 4, 98.0 % with 8 and 0; the English questions lose .001 with 16. Each costs some 20
# microseconds.
MAX_COMPARED_CODE_CHUNKS = 12

MAX_COMPARED_OTHER_CHUNKS = 4

# In units of the best score: more than all other boosts together.
PHRASE_BOOST = 3.0

_PHRASE_KINDS = frozenset({QueryKind.PROSE, QueryKind.ERROR})

_TO_WORDS = bytes(
    code if chr(code).isalnum() or code >= 0x80 else 0x20  # noqa: PLR2004 - ASCII
    for code in range(256)
)

# Where a message has its values: %s, %-3d, {name}, ${name}, #{name}, \(name).
_PLACEHOLDER = re.compile(
    r"%[-+#0]?\d{0,3}(?:\.\d)?[a-zA-Z]\b|[$#]?\{[^{}\n]{0,60}\}|\\\([^()\n]{1,60}\)"
)

# Prose says what people say, and a list of changes what their commits say.
_PROSE_FILE = re.compile(r"\.(?:md|mdx|rst|txt|adoc)$")


class PhraseMatch(NamedTuple):
    """How much of a query stands word for word in a chunk, and how literally; compared in order."""

    # Of the query's words, those that stand there with two neighbours, 0..1.
    share: float
    # Whether all stand there in one row.
    is_whole: bool
    # Whether they do with the same capitals and punctuation.
    is_exact: bool


def normalize_words(text: str) -> bytes:
    """Return the words of a text in lower case, separated and surrounded by one blank."""
    lower = text.lower().encode(errors="replace")
    return b" %b " % b" ".join(lower.translate(_TO_WORDS).split())


def select_phrase_candidates(
    query: Query, lexical: ScoredIds, chunks: Mapping[int, IndexedChunk]
) -> list[int]:
    """Return the chunks that may hold the query's words; none if it is no phrase."""
    if query.kind not in _PHRASE_KINDS or len(query.terms) < MIN_PHRASE_WORDS:
        return []
    code: list[int] = []
    other: list[int] = []
    for number, _ in lexical:
        if number in chunks:
            (code if classify_path(chunks[number].path).is_code else other).append(number)
        if len(code) >= MAX_COMPARED_CODE_CHUNKS:
            break
    return code + other[:MAX_COMPARED_OTHER_CHUNKS]


def measure_phrases(query: Query, texts: Mapping[int, str]) -> dict[int, PhraseMatch]:
    """Return how much of the query stands word for word in each text, if it is much.

    If that is nothing, the constant words of a message are compared with the texts between the
    placeholders.
    """
    text = query.semantic_query
    matches = _measure(text, texts)
    if matches:
        return matches
    constant = strip_variable_values(_PLACEHOLDER.sub(" ", text))
    if constant == text:
        return {}
    return _measure(constant, {number: _PLACEHOLDER.sub(" ", it) for number, it in texts.items()})


def _measure(text: str, texts: Mapping[int, str]) -> dict[int, PhraseMatch]:
    words = normalize_words(text).split()[:MAX_PHRASE_WORDS]
    rows = [words[begin : begin + WINDOW_WORDS] for begin in range(len(words) - WINDOW_WORDS + 1)]
    windows = [b" %b " % b" ".join(each) for each in rows]
    row, exact = b" %b " % b" ".join(words), " ".join(text.split())
    # The longest word first: most texts lack it.
    tried = [sorted([it.decode() for it in each], key=len, reverse=True) for each in rows[::2]]
    matches: dict[int, PhraseMatch] = {}
    for number, candidate in texts.items():
        lower = candidate.lower()
        # Four words in a row have two windows, of which one is even; most texts lack words of each.
        if not any(all(map(lower.__contains__, each)) for each in tried):
            continue
        normalized = normalize_words(candidate)
        if not any(map(normalized.__contains__, windows[::2])):
            continue
        covered: set[int] = set()
        for begin, window in enumerate(windows):
            if window in normalized:
                covered.update(range(begin, begin + WINDOW_WORDS))
        if len(covered) >= max(MIN_PHRASE_WORDS, MIN_PHRASE_SHARE * len(words)):
            is_whole = row in normalized
            is_exact = is_whole and exact in " ".join(candidate.split())
            matches[number] = PhraseMatch(len(covered) / len(words), is_whole, is_exact)
    return matches


def boost_phrases(
    boosted: Sequence[BoostedChunk], matches: Mapping[int, PhraseMatch]
) -> list[BoostedChunk]:
    """Return the chunks with those raised that hold the most of the query word for word.

    Code, or else the test or script that alone has all of it. Documents and lists of changes say
    what people say.
    """
    code: dict[int, PhraseMatch] = {}
    other: dict[int, PhraseMatch] = {}
    for chunk, _, _ in boosted:
        match = matches.get(chunk.id)
        if match and classify_path(chunk.path).is_code:
            code[chunk.id] = match
        elif match and match.is_whole and not _PROSE_FILE.search(chunk.path):
            other[chunk.id] = match
    found = code or other
    if not found:
        return list(boosted)
    best = max(found.values())
    holders = {number for number, match in found.items() if match == best}
    unit = max(score for _, score, _ in boosted)
    gain = PHRASE_BOOST * unit * best.share / len(holders)
    return [
        (chunk, score + gain, {**signals, Signal.EXACT: gain})
        if chunk.id in holders
        else (chunk, score, signals)
        for chunk, score, signals in boosted
    ]
