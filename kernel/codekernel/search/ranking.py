"""Rank candidates: fuse lexical (BM25) and semantic scores, boost, group by file, refine.

Each step is a pure function that returns new values. docs/search.md has what each is worth.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import eq, itemgetter
from typing import NamedTuple

from codekernel.domain.index import IndexedChunk, Signal
from codekernel.search.boosts import Boosts, boost_defined_names, boost_mention, boost_path
from codekernel.search.file_kinds import FileKind, classify_path
from codekernel.search.query_parser import Query, QueryKind
from codekernel.search.retrieval import Candidates, ScoredIds

# How much of the score is semantic, by kind of query. On the benchmark: prose .3 .891, .4 .889,
# .5 .888, .6 .884 in English; Chinese, asked in English words too, .4 .818, .5 .823, .6 .817. A
# name, a path and the frames of a stack trace are a matter of words, and so is an error message:
# .3 .781, .4 .779, .5 .770 (see query_parser.py).
SEMANTIC_WEIGHT = {
    QueryKind.SYMBOL: 0.3,
    QueryKind.PROSE: 0.4,
    QueryKind.HAN: 0.5,
    QueryKind.PATH: 0.2,
    QueryKind.ERROR: 0.3,
    QueryKind.TRACE: 0.2,
}

# The best chunk of a file gains by the file's other good chunks. Benchmark: without .85, .15 .876,
# .3 .888, .4 .889.
FILE_TOTAL_BOOST = 0.3

# Each further chunk of a file counts for half of the one before: .888; counting all fully .85.
FURTHER_CHUNK_FACTOR = 0.5

# The semantic refinement of accurate searches reads so many of the first chunks.
MAX_REFINED_CHUNKS = 50

# Of the best score, what the nearest chunk and the nearest path gain.
SEMANTIC_REFINE_BOOST = 0.1

PATH_SIMILARITY_BOOST = 0.1

# The folders around a file that say what it is for; its name says it twice as clearly.
_MAX_PATH_FOLDERS = 2

# Names and paths are ranked by what they name; only these are a matter of meaning.
PROSE_KINDS = frozenset({QueryKind.PROSE, QueryKind.HAN})

# Returns the cosines of a query and short texts; empty if no model is fast enough.
ComputeSimilarities = Callable[[str, Sequence[str]], Sequence[float]]

# A chunk, its score and its signals: a plain tuple, which costs a quarter of a RankedChunk.
BoostedChunk = tuple[IndexedChunk, float, dict[Signal, float]]

# The weighted lexical and semantic scores of a chunk; together 1 if it is best in both.
FusedScore = tuple[float, float]

# Read once: a member of an Enum costs a tenth of a microsecond in Python 3.11, for each chunk.
LEXICAL, SEMANTIC, FILE_KIND = Signal.LEXICAL, Signal.SEMANTIC, Signal.FILE_KIND
FILE_TOTAL, FURTHER_CHUNK, MENTION = Signal.FILE_TOTAL, Signal.FURTHER_CHUNK, Signal.MENTION

_get_score = itemgetter(1)


class RankedChunk(NamedTuple):
    """A chunk, its score, and the signals that the score is made of."""

    chunk: IndexedChunk
    score: float
    signals: Mapping[Signal, float]

    def add(self, signal: Signal, gain: float) -> "RankedChunk":
        """Return the chunk with a gain added to its score."""
        return RankedChunk(self.chunk, self.score + gain, {**self.signals, signal: gain})


def fuse_scores(candidates: Candidates, kind: QueryKind) -> dict[int, FusedScore]:
    """Return the weighted scores of each candidate.

    Lexical scores are relative to the best one. A cosine means little by itself, so cosines are
    scaled between the last candidate and the first. Several configs share the semantic weight.
    """
    weight = SEMANTIC_WEIGHT[kind] if candidates.semantic else 0.0
    lexical = _normalize_by_best(candidates.lexical, 1 - weight)
    semantic: dict[int, float] = {}
    for nearest in candidates.semantic:
        for number, score in _normalize_min_max(nearest, weight / len(candidates.semantic)).items():
            semantic[number] = semantic.get(number, 0.0) + score
    fused = {
        number: (lexical.get(number, 0.0), semantic.get(number, 0.0))
        for number in lexical.keys() | semantic.keys()
    }
    return fused | {number: (0.0, 0.0) for number in candidates.mentioned if number not in fused}


def apply_boosts(
    query: Query, fused: Mapping[int, FusedScore], chunks: Mapping[int, IndexedChunk]
) -> list[BoostedChunk]:
    """Return the fused chunks with boosts; tests, examples and data have lowered scores."""
    found = [(chunks[number], score) for number, score in fused.items() if number in chunks]
    unit = max((sum(score) for _, score in found), default=0.0) or 1.0
    files = {path: _boost_file(query, path) for path in {chunk.path for chunk, _ in found}}
    boosted: list[BoostedChunk] = []
    for chunk, (lexical, semantic) in found:
        file = files[chunk.path]
        score = lexical + semantic
        signals = {LEXICAL: lexical, SEMANTIC: semantic}
        boosts = file.boosts
        if chunk.defined_names:
            boosts = boost_defined_names(query, chunk, file.kind) + boosts
        if query.mentions:
            boosts = (*boosts, (MENTION, boost_mention(query, chunk)))
        for signal, boost in boosts:
            if boost:
                signals[signal] = boost * unit
                score += boost * unit
        if file.factor != 1.0:
            signals[FILE_KIND] = score * (file.factor - 1)
            score *= file.factor
        boosted.append((chunk, score, signals))
    return boosted


class _FileBoosts(NamedTuple):
    """What the path of a file is worth for one query."""

    kind: FileKind
    boosts: Boosts
    factor: float


def _boost_file(query: Query, path: str) -> _FileBoosts:
    kind = classify_path(path)
    factor = kind.get_score_factor(is_about_tests=query.is_about_tests)
    return _FileBoosts(kind, boost_path(query, kind), factor)


def group_by_file(boosted: Sequence[BoostedChunk]) -> list[RankedChunk]:
    """Sort the chunks, the best of each file raised by the file's total, the others lowered."""
    gains = _compute_file_gains(boosted)
    raised = [
        (chunk, score + gains[place], {**signals, FILE_TOTAL: gains[place]})
        if place in gains
        else (chunk, score, signals)
        for place, (chunk, score, signals) in enumerate(boosted)
    ]
    seen: dict[str, int] = defaultdict(int)
    grouped = []
    for chunk, score, signals in _sort_by_score(raised):
        before = seen[chunk.path]
        seen[chunk.path] += 1
        if before:
            factor = FURTHER_CHUNK_FACTOR**before
            signals = {**signals, FURTHER_CHUNK: score * (factor - 1)}  # noqa: PLW2901
            score *= factor  # noqa: PLW2901
        grouped.append((chunk, score, signals))
    return list(map(RankedChunk._make, _sort_by_score(grouped)))


def refine_semantically(
    query: Query, ranked: Sequence[RankedChunk], compute_similarities: ComputeSimilarities
) -> list[RankedChunk]:
    """Return the order with the first chunks compared once more: their texts and their paths."""
    first, rest = ranked[:MAX_REFINED_CHUNKS], ranked[MAX_REFINED_CHUNKS:]
    if query.kind not in PROSE_KINDS or len(first) < 2:  # noqa: PLR2004 - nothing to put in order
        return list(ranked)
    unit = first[0].score
    nearness = _scale_to_unit([each.signals[Signal.SEMANTIC] for each in first])
    similarity = _compare_paths(query, first, compute_similarities)
    refined = add_gains(
        first, Signal.SEMANTIC_REFINE, [SEMANTIC_REFINE_BOOST * unit * near for near in nearness]
    )
    refined = add_gains(
        refined,
        Signal.PATH_SIMILARITY,
        [PATH_SIMILARITY_BOOST * unit * near for near in similarity],
    )
    return [*sorted(refined, key=_get_score, reverse=True), *rest]


def add_gains(
    ranked: Sequence[RankedChunk], signal: Signal, gains: Iterable[float]
) -> list[RankedChunk]:
    """Return each chunk with its gain, if it has one."""
    pairs = zip(ranked, gains, strict=True)
    return [each.add(signal, gain) if gain else each for each, gain in pairs]


def drop_overlapping(ranked: Iterable[RankedChunk]) -> Iterator[RankedChunk]:
    """Skip a chunk whose lines a better one of the same file shows; chunk sizes may differ."""
    shown: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in ranked:
        begin, end, spans = each.chunk.begin, each.chunk.end, shown[each.chunk.path]
        if all(end <= other_begin or begin >= other_end for other_begin, other_end in spans):
            spans.append((begin, end))
            yield each


def describe_path(path: str) -> str:
    """Return the words of a path that a model compares with the query."""
    *folders, file = path.split("/")
    name = file.rpartition(".")[0] or file
    return " ".join([*folders[-_MAX_PATH_FOLDERS:], name, name])


def _normalize_by_best(scored: ScoredIds, weight: float) -> dict[int, float]:
    best = max(map(_get_score, scored), default=0.0)
    return {number: weight * (score / best) for number, score in scored} if best > 0 else {}


def _normalize_min_max(scored: ScoredIds, weight: float) -> dict[int, float]:
    best = max(map(_get_score, scored), default=0.0)
    last = min(map(_get_score, scored), default=0.0)
    if best <= last:
        return {number: weight for number, _ in scored}
    width = best - last
    return {number: weight * ((score - last) / width) for number, score in scored}


def _scale_to_unit(values: Sequence[float]) -> list[float]:
    least, most = min(values), max(values)
    return [(value - least) / (most - least) if most > least else 0.0 for value in values]


def _compute_file_gains(boosted: Sequence[BoostedChunk]) -> dict[int, float]:
    """Return the place of the best chunk of each file, and what it gains by the file's total."""
    totals: dict[str, float] = {}
    best: dict[str, int] = {}
    for place, (chunk, score, _) in enumerate(boosted):
        path = chunk.path
        if path not in best:
            totals[path], best[path] = score, place
            continue
        totals[path] += score
        other, other_score, _ = boosted[best[path]]
        if score > other_score or (score == other_score and chunk.begin < other.begin):
            best[path] = place
    largest = max(totals.values(), default=0.0)
    unit = max((boosted[place][1] for place in best.values()), default=0.0)
    if largest <= 0:
        return {}
    return {place: FILE_TOTAL_BOOST * unit * totals[path] / largest for path, place in best.items()}


def _sort_by_score(boosted: Sequence[BoostedChunk]) -> list[BoostedChunk]:
    """Sort best first; equal scores by path and place."""
    by_score = sorted(boosted, key=_get_score, reverse=True)
    scores = list(map(_get_score, by_score))
    if any(map(eq, scores, islice(scores, 1, None))):  # seldom: only then is it worth the keys
        by_score.sort(key=lambda each: (-each[1], each[0].path, each[0].begin))
    return by_score


def _compare_paths(
    query: Query, ranked: Sequence[RankedChunk], compute_similarities: ComputeSimilarities
) -> list[float]:
    """Return how near the path of each chunk is to the query, 0..1; zeros if no model says it."""
    texts = {each.chunk.path: describe_path(each.chunk.path) for each in ranked}
    cosines = compute_similarities(query.semantic_query, list(texts.values()))
    by_path = dict(zip(texts, cosines, strict=False))
    return _scale_to_unit([by_path.get(each.chunk.path, 0.0) for each in ranked])
