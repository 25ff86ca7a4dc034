"""Rank candidates: fuse lexical (BM25) and semantic scores, boost, group by file, refine.

Each step is a pure function that returns new values. docs/search.md has what each is worth.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter, eq, itemgetter
from typing import NamedTuple

from codekernel.domain.index import IndexedChunk, Signal
from codekernel.search.boosts import boost_defined_names, boost_mention, boost_path
from codekernel.search.file_kinds import classify_path
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

_get_pair_score: Callable[[tuple[int, float]], float] = itemgetter(1)

_get_score = attrgetter("score")


class RankedChunk(NamedTuple):
    """A chunk, its score, and the signals that the score is made of."""

    chunk: IndexedChunk
    score: float
    signals: Mapping[Signal, float]

    def add(self, signal: Signal, gain: float) -> "RankedChunk":
        """Return the chunk with a gain added to its score."""
        return RankedChunk(self.chunk, self.score + gain, {**self.signals, signal: gain})

    def scale(self, signal: Signal, factor: float) -> "RankedChunk":
        """Return the chunk with its score multiplied."""
        signals = {**self.signals, signal: self.score * (factor - 1)}
        return RankedChunk(self.chunk, self.score * factor, signals)


class FusedScore(NamedTuple):
    """The weighted lexical and semantic scores of a chunk; together 1 if it is best in both."""

    lexical: float
    semantic: float


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
        number: FusedScore(lexical.get(number, 0.0), semantic.get(number, 0.0))
        for number in lexical.keys() | semantic.keys()
    }
    return fused | {
        number: FusedScore(0.0, 0.0) for number in candidates.mentioned if number not in fused
    }


def apply_boosts(
    query: Query, fused: Mapping[int, FusedScore], chunks: Mapping[int, IndexedChunk]
) -> list[RankedChunk]:
    """Return the fused chunks with boosts; tests, examples and data have lowered scores."""
    found = [(chunks[number], score) for number, score in fused.items() if number in chunks]
    unit = max((sum(score) for _, score in found), default=0.0) or 1.0
    # What a path is worth is computed once for each file.
    kinds = {path: classify_path(path) for path in {chunk.path for chunk, _ in found}}
    boosts_by_path = {path: boost_path(query, kind) for path, kind in kinds.items()}
    is_about_tests = query.is_about_tests
    ranked = []
    for chunk, (lexical, semantic) in found:
        kind, boosts = kinds[chunk.path], boosts_by_path[chunk.path]
        if chunk.defined_names:
            boosts = boost_defined_names(query, chunk, kind) + boosts
        if query.mentions:
            boosts = (*boosts, (Signal.MENTION, boost_mention(query, chunk)))
        score = lexical + semantic
        signals = {Signal.LEXICAL: lexical, Signal.SEMANTIC: semantic}
        for signal, boost in boosts:
            if boost:
                signals[signal] = boost * unit
                score += boost * unit
        boosted = RankedChunk(chunk, score, signals)
        factor = kind.get_score_factor(is_about_tests=is_about_tests)
        ranked.append(boosted if factor == 1.0 else boosted.scale(Signal.FILE_KIND, factor))
    return ranked


def group_by_file(ranked: Iterable[RankedChunk]) -> list[RankedChunk]:
    """Sort the chunks, the best of each file raised by the file's total, the others lowered."""
    return _lower_further_chunks(_sort_by_score(_boost_best_chunks(ranked)))


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
    best = max(map(_get_pair_score, scored), default=0.0)
    return {number: weight * (score / best) for number, score in scored} if best > 0 else {}


def _normalize_min_max(scored: ScoredIds, weight: float) -> dict[int, float]:
    best = max(map(_get_pair_score, scored), default=0.0)
    last = min(map(_get_pair_score, scored), default=0.0)
    if best <= last:
        return {number: weight for number, _ in scored}
    width = best - last
    return {number: weight * ((score - last) / width) for number, score in scored}


def _scale_to_unit(values: Sequence[float]) -> list[float]:
    least, most = min(values), max(values)
    return [(value - least) / (most - least) if most > least else 0.0 for value in values]


def _boost_best_chunks(ranked: Iterable[RankedChunk]) -> list[RankedChunk]:
    """Raise the best chunk of each file by the total of the file's scores."""
    ranked = list(ranked)
    totals: dict[str, float] = {}
    best: dict[str, int] = {}
    for place, each in enumerate(ranked):
        path = each.chunk.path
        if path not in best:
            totals[path], best[path] = each.score, place
            continue
        totals[path] += each.score
        other = ranked[best[path]]
        if each.score > other.score or (
            each.score == other.score and each.chunk.begin < other.chunk.begin
        ):
            best[path] = place
    largest = max(totals.values(), default=0.0)
    unit = max((ranked[place].score for place in best.values()), default=0.0)
    for path, place in best.items() if largest > 0 else ():
        gain = FILE_TOTAL_BOOST * unit * totals[path] / largest
        ranked[place] = ranked[place].add(Signal.FILE_TOTAL, gain)
    return ranked


def _lower_further_chunks(ranked: Iterable[RankedChunk]) -> list[RankedChunk]:
    seen: dict[str, int] = defaultdict(int)
    lowered = []
    for each in ranked:
        before = seen[each.chunk.path]
        seen[each.chunk.path] += 1
        factor = FURTHER_CHUNK_FACTOR**before
        lowered.append(each.scale(Signal.FURTHER_CHUNK, factor) if before else each)
    return _sort_by_score(lowered)


def _sort_by_score(ranked: Iterable[RankedChunk]) -> list[RankedChunk]:
    """Sort best first; equal scores by path and place."""
    by_score = sorted(ranked, key=_get_score, reverse=True)
    scores = list(map(_get_score, by_score))
    if any(map(eq, scores, islice(scores, 1, None))):  # seldom: only then is it worth the keys
        by_score.sort(key=lambda each: (-each.score, each.chunk.path, each.chunk.begin))
    return by_score


def _compare_paths(
    query: Query, ranked: Sequence[RankedChunk], compute_similarities: ComputeSimilarities
) -> list[float]:
    """Return how near the path of each chunk is to the query, 0..1; zeros if no model says it."""
    texts = {each.chunk.path: describe_path(each.chunk.path) for each in ranked}
    cosines = compute_similarities(query.semantic_query, list(texts.values()))
    by_path = dict(zip(texts, cosines, strict=False))
    return _scale_to_unit([by_path.get(each.chunk.path, 0.0) for each in ranked])
