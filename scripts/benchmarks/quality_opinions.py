"""What good, useless and hostile rerankers change: made-up opinions, blended as usual."""

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean

from codekernel.search.filters import Filters
from codekernel.search.pipeline import ACCURATE_CANDIDATES_FACTOR, MIN_CANDIDATES, search_hybrid
from codekernel.search.query_parser import parse_query
from codekernel.search.ranking import RankedChunk, blend_reranker_scores, select_for_reranker
from kernel_searchers import Static
from quality_replay import score_module

HITS = 10
NOISE = 0.5

# What is thought of each chunk, given which of them are right.
Opinion = Callable[[Sequence[RankedChunk], Sequence[bool]], list[float]]


def _chance(seed: int) -> Opinion:
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    return lambda heard, _: [dice.random() for _ in heard]


def _noisy() -> Opinion:
    dice = random.Random(1)  # noqa: S311
    return lambda _, right: [float(it) + dice.gauss(0, NOISE) for it in right]


def opinions() -> dict[str, Opinion | None]:
    """Rerankers from hostile to perfect."""
    return {
        "none": None,
        **{f"random numbers, seed {seed}": _chance(seed) for seed in range(3)},
        "the order turned round": lambda heard, _: [float(place) for place in range(len(heard))],
        "the length of the chunk": lambda heard, _: [
            float(it.chunk.end - it.chunk.begin) for it in heard
        ],
        "meaning alone": lambda heard, _: [it.signals["meaning"] for it in heard],
        "words alone": lambda heard, _: [it.signals["words"] for it in heard],
        f"the truth with noise (deviation {NOISE})": _noisy(),
        "the truth": lambda _, right: [float(it) for it in right],
    }


def compared(options: argparse.Namespace) -> None:
    """Print NDCG@10 with each opinion."""
    score = score_module(options.bench)
    roots, tasks = score.load(options.bench, options.repos, list(options.only), chinese=False)
    searcher, found = Static(), defaultdict(lambda: defaultdict(list))
    tried = opinions()
    for repo, root in roots.items():
        handle = searcher.index(root)
        for task in (task for task in tasks if task.repo == repo):
            for name, opinion in tried.items():
                found[name][repo].append(_scored(score, handle[0], task, opinion))
        searcher.close(handle)
    print("| opinion | NDCG@10 |\n|---|---|")
    for name, by_repo in found.items():
        print(f"| {name} | {fmean(map(fmean, by_repo.values())):.4f} |")


def _scored(score: object, index: object, task: object, opinion: Opinion | None) -> float:
    query = parse_query(task.query)
    candidates = ACCURATE_CANDIDATES_FACTOR * MIN_CANDIDATES
    ranked = search_hybrid(index, query, Filters(), candidates, accuracy=True)
    if opinion and (heard := select_for_reranker(query, ranked)):
        right = [any(score.covers(_hit(score, it), t) for t in task.targets) for it in heard]
        ranked = blend_reranker_scores(ranked, heard, _sure(opinion(heard, right)))
    hits = [_hit(score, it) for it in ranked[:HITS]]
    return score.score(hits, hits, task)["ndcg10"]


def _sure(opinions: Sequence[float]) -> list[float]:
    """As a reranker that is as sure as can be says it: 0..1, with the whole range used."""
    least, most = min(opinions), max(opinions)
    return [(it - least) / (most - least) if most > least else 0.5 for it in opinions]


def _hit(score: object, ranked: RankedChunk) -> object:
    chunk = ranked.chunk
    return score.Hit(ranked.chunk.path, chunk.begin_line + 1, chunk.end_line)
