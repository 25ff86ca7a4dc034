"""Compare made-up rerankers, from useless to perfect, whose scores are blended in as usual."""

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean
from types import ModuleType
from typing import Any

from codekernel.domain.index import Signal
from codekernel.search.filters import Filters
from codekernel.search.pipeline import CANDIDATES, search_hybrid
from codekernel.search.query_parser import parse_query
from codekernel.search.ranking import (
    PROSE_KINDS,
    RankedChunk,
    add_evidence,
    select_for_reranker,
    weigh_probabilities,
)
from codekernel.search.retrieval import SearchableIndex
from kernel_searchers import Static
from quality_replay import build_hit, load_score_module

HITS = 10
NOISE = 0.5

# Scores chunks, given which of them are right.
FakeReranker = Callable[[Sequence[RankedChunk], Sequence[bool]], list[float]]


def _make_random(seed: int) -> FakeReranker:
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    return lambda chunks, _: [dice.random() for _ in chunks]


def _make_noisy() -> FakeReranker:
    dice = random.Random(1)  # noqa: S311
    return lambda _, right: [float(it) + dice.gauss(0, NOISE) for it in right]


def make_rerankers() -> dict[str, FakeReranker | None]:
    """Return rerankers from useless to perfect."""
    return {
        "none": None,
        **{f"random numbers, seed {seed}": _make_random(seed) for seed in range(3)},
        "the reversed order": lambda chunks, _: [float(place) for place in range(len(chunks))],
        "the length of the chunk": lambda chunks, _: [
            float(it.chunk.end - it.chunk.begin) for it in chunks
        ],
        "semantic scores alone": lambda chunks, _: [it.signals[Signal.SEMANTIC] for it in chunks],
        "lexical scores alone": lambda chunks, _: [it.signals[Signal.LEXICAL] for it in chunks],
        f"the truth with noise (deviation {NOISE})": _make_noisy(),
        "the truth": lambda _, right: [float(it) for it in right],
    }


def compare_rerankers(options: argparse.Namespace) -> None:
    """Print NDCG@10 with each reranker."""
    score = load_score_module(options.bench)
    roots, tasks = score.load(options.bench, options.repos, list(options.only), chinese=False)
    static, rerankers = Static(), make_rerankers()
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for repo, root in roots.items():
        handle = static.index(root)
        for task in (task for task in tasks if task.repo == repo):
            for name, reranker in rerankers.items():
                found[name][repo].append(_compute_ndcg(score, handle[0], task, reranker))
        static.close(handle)
    print("| reranker | NDCG@10 |\n|---|---|")
    for name, by_repo in found.items():
        print(f"| {name} | {fmean(map(fmean, by_repo.values())):.4f} |")


def _compute_ndcg(
    score: ModuleType, index: SearchableIndex, task: Any, reranker: FakeReranker | None
) -> float:
    query = parse_query(task.query)
    ranked = search_hybrid(index, query, Filters(), CANDIDATES).chunks
    read = select_for_reranker(ranked) if query.kind in PROSE_KINDS else []
    if reranker and read:
        hits = [build_hit(score, it.chunk) for it in read]
        right = [any(score.covers(hit, target) for target in task.targets) for hit in hits]
        evidence = weigh_probabilities(_scale_to_unit(reranker(read, right)))
        ranked = add_evidence(ranked, read, evidence)
    hits = [build_hit(score, it.chunk) for it in ranked[:HITS]]
    ndcg: float = score.score(hits, hits, task)["ndcg10"]
    return ndcg


def _scale_to_unit(scores: Sequence[float]) -> list[float]:
    """Return scores that use the whole range 0..1, as of a reranker that is as sure as can be."""
    least, most = min(scores), max(scores)
    return [(it - least) / (most - least) if most > least else 0.5 for it in scores]
