"""One ranking of several repositories, each searched by its own pipeline, whose order stays.

A score says how a hit compares with the others of its repository, so scores of two repositories
are not comparable. What makes them so is how well the first hits of a repository answer: the share
of the query's terms that stand in them, the rare ones of all repositories counting most, and their
cosines, which one model measures everywhere alike. A repository's scores are multiplied by that,
relative to the best repository.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import chain
from statistics import fmean
from typing import NamedTuple

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, HitList
from codekernel.errors import Cancelled, KernelError, WrongParam
from codekernel.search.pipeline import Searcher
from codekernel.search.query_parser import parse_query
from codekernel.search.query_syntax import parse_search_expression
from codekernel.search.retrieval import SearchableIndex, SemanticIndex
from codekernel.search.searchable import SearchableStore

# Of ten repositories in seven languages, 353 queries in English and Chinese, the right file among
# the first ten and NDCG@10 (scripts/bench.py federation): ranks in turn .83 .36, scores as they are
# .92 .68, with this evidence .97 .80, each repository searched alone .99 .90. The mean of the best
# three of the first five hits .972 .805, of the first three .966 .797, the best of three .958 .798.
EVIDENCE_HITS, BEST_HITS = 5, 3

# How much of the evidence are cosines: none .955 .777, .3 .960 .790, .5 .960 .796, .7 .960 .793,
# nothing else .960 .779 (with the best of the first three hits).
COSINE_SHARE = 0.5

# Searches at a time; more than cores, because some wait for an index.
MAX_CONCURRENT_SEARCHES = 16


class RepositoryHit(NamedTuple):
    """A hit and the name of its repository; scores are comparable among repositories."""

    repo_name: str
    hit: Hit


class RepositoryOutcome(NamedTuple):
    """How the search of one repository went; ``error`` if it could not be searched."""

    repo_name: str
    hit_count: int = 0
    error: str = ""
    # What was not searched of it, as a sentence.
    gap: str = ""


@dataclass(frozen=True, slots=True)
class FederatedHits:
    """Hits of several repositories, best first, and how each of them was searched."""

    hits: Sequence[RepositoryHit]
    highlight_terms: Sequence[str]
    outcomes: Sequence[RepositoryOutcome]
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class FederatedQuery:
    """A query to several repositories; without ``semantic`` they are searched by words alone."""

    text: str
    limit: int
    accuracy: bool = False
    semantic: bool = True


@dataclass(frozen=True, slots=True)
class _CosineRecorder:
    """Vectors that remember the cosines they found."""

    vectors: SemanticIndex
    cosines: dict[int, float] = field(compare=False)

    @property
    def is_contextual(self) -> bool:
        """Return whether a contextual model made vectors of nearly all texts."""
        return self.vectors.is_contextual

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the keys of the nearest texts and their cosines, best first."""
        found = self.vectors.search(query, k)
        for key, cosine in found:
            self.cosines[key] = max(cosine, self.cosines.get(key, 0.0))
        return found

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        """Return whether a text is still to be embedded."""
        return self.vectors.is_missing(text_hash, max_chunk_chars)


@dataclass(frozen=True, slots=True)
class _RecordedIndex:
    """An index whose cosines are remembered, by the hash of the text."""

    index: SearchableIndex
    cosines: dict[int, float] = field(default_factory=dict)

    @property
    def store(self) -> SearchableStore:
        """Return the catalog and the lexical index."""
        return self.index.store

    @property
    def vector_indexes(self) -> Sequence[SemanticIndex]:
        """Return the vectors of the embedding configs that are ready."""
        return [_CosineRecorder(each, self.cosines) for each in self.index.vector_indexes]


@dataclass(frozen=True, slots=True)
class _RankedRepository:
    """What a repository answered, and what is needed to compare it with others."""

    name: str
    found: HitList
    cosines: Mapping[int, float]
    chunk_count: int = 0
    # By stem, how many chunks have it.
    matches: Mapping[str, int] = field(default_factory=dict)
    # Of the first hits.
    stems: Sequence[frozenset[str]] = ()


# Returns the searcher of a repository, and what it lacks, as a sentence. Raises KernelError.
OpenSearcher = Callable[[], tuple[Searcher, str]]


def search_repositories(
    repositories: Mapping[str, OpenSearcher], asked: FederatedQuery, cancel: CancelToken
) -> FederatedHits:
    """Search repositories by name, all at once; one that fails does not keep the others back.

    Raises WrongParam if every one refuses the query, Cancelled.
    """
    parse_search_expression(asked.text)  # refuses what no repository would understand

    def search(name: str, open_searcher: OpenSearcher) -> tuple[_RankedRepository, str]:
        searcher, gap = open_searcher()
        return _search_one(name, searcher, asked, cancel), gap

    ranked: list[_RankedRepository] = []
    outcomes: list[RepositoryOutcome] = []
    refusals: list[WrongParam] = []
    workers = max(1, min(MAX_CONCURRENT_SEARCHES, len(repositories)))
    with ThreadPoolExecutor(workers, thread_name_prefix="federation") as pool:
        searches = {name: pool.submit(search, name, each) for name, each in repositories.items()}
        for name, running in searches.items():
            try:
                one, gap = running.result()
            except Cancelled:
                raise
            except KernelError as error:
                refusals += [error] if isinstance(error, WrongParam) else []
                outcomes.append(RepositoryOutcome(name, error=str(error)))
            else:
                ranked.append(one)
                gap = gap or one.found.gap
                outcomes.append(RepositoryOutcome(name, len(one.found.hits), gap=gap))
    if refusals and len(refusals) == len(outcomes):
        raise refusals[0]
    hits = fuse_repositories(ranked, asked.limit)
    terms = dict.fromkeys(chain.from_iterable(each.found.highlight_terms for each in ranked))
    return FederatedHits(
        hits, list(terms), outcomes, all(each.found.is_complete for each in ranked)
    )


def _search_one(
    name: str, searcher: Searcher, asked: FederatedQuery, cancel: CancelToken
) -> _RankedRepository:
    recorded = _RecordedIndex(searcher.index)
    recording = replace(searcher, index=recorded)
    found = recording.run_search(asked.text, asked.limit, cancel, accuracy=asked.accuracy)
    expression = parse_search_expression(asked.text)
    if expression.is_literal or not found.hits:
        return _RankedRepository(name, found, {})
    lexical = searcher.index.store.lexical
    return _RankedRepository(
        name,
        found,
        recorded.cosines,
        lexical.document_count,
        lexical.count_matches(parse_query(expression.query_text).terms),
        [
            lexical.list_stems(f"{hit.chunk.path} {' '.join(hit.chunk.symbols)} {hit.content}")
            for hit in found.hits[:EVIDENCE_HITS]
        ],
    )


def fuse_repositories(ranked: Sequence[_RankedRepository], limit: int) -> list[RepositoryHit]:
    """Return the best hits of all; those of one repository keep their order."""
    ranked = [each for each in ranked if each.found.hits]
    rarities = _weigh_terms(ranked)
    evidence = [_measure_evidence(each, rarities) for each in ranked]
    best = max(evidence, default=0.0)
    fused = [
        (repository.name, place, _scale(hit, weight / best if best else 1.0))
        for repository, weight in zip(ranked, evidence, strict=True)
        for place, hit in enumerate(repository.found.hits)
    ]
    fused.sort(key=lambda each: (-each[2].score, each[1], each[0]))
    return [RepositoryHit(name, hit) for name, _, hit in fused[:limit]]


def _weigh_terms(ranked: Sequence[_RankedRepository]) -> dict[str, float]:
    """Return the inverse document frequency of each term among the chunks of all."""
    total = sum(each.chunk_count for each in ranked)
    counts: dict[str, int] = {}
    for each in ranked:
        for stem, count in each.matches.items():
            counts[stem] = counts.get(stem, 0) + count
    return {
        stem: math.log1p((total - count + 0.5) / (count + 0.5))
        for stem, count in counts.items()
        if count  # what nobody has distinguishes nobody
    }


def _measure_evidence(repository: _RankedRepository, rarities: Mapping[str, float]) -> float:
    """Return how well the first hits answer, 0 to 1; 1 for what is found literally."""
    if not repository.stems:
        return 1.0
    total = sum(rarities.values())
    measured = []
    for hit, stems in zip(repository.found.hits, repository.stems, strict=False):
        covered = sum(rarity for stem, rarity in rarities.items() if stem in stems)
        coverage = covered / total if total else 0.0
        cosine = max(0.0, repository.cosines.get(hit.chunk.text_hash, 0.0))
        measured.append((1 - COSINE_SHARE) * coverage + COSINE_SHARE * cosine)
    return fmean(nlargest(BEST_HITS, measured))


def _scale(hit: Hit, factor: float) -> Hit:
    """Return the hit with its score multiplied before it is made 0..1."""
    if hit.score >= 1.0:
        return hit
    score = factor * hit.score / (1 - hit.score)
    return replace(hit, score=score / (score + 1))
