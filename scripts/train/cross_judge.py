"""What a reranker's weight is worth: ``cross_judge.py REPOS FOLDER [--only NAME ...]``.

The product's whole search with accuracy, and the reranker of a folder heard as the kernel hears it,
with other weights and other numbers of files. Prints NDCG@10, what is gained over not hearing it
with its interval of 95 %, and what a weight chosen on the other languages gives.
``CODEKERNEL_BENCH_CACHE`` keeps the indexes.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import beside
import quality_replay
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.inference.model_pool import ModelPool, Reranker
from codekernel.search.evaluation import compute_difference
from codekernel.search.pipeline import Searcher
from codekernel.search.ranking import MAX_RERANKED_FILES
from codekernel.search.retrieval import SearchableIndex
from kernel_searchers import Static as Indexed
from quality_settings import Change, Setting, apply_setting

BENCH = beside.ROOT.parent / "shared" / "bench"
HITS = 10
WEIGHTS = (0.0, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06)
NUMBERS_OF_FILES = (MAX_RERANKED_FILES, 10)

Way = tuple[int, float]  # how many files are read, and the weight
Rows = list[tuple[Any, float]]  # tasks and their NDCG@10


class ReadOnce:
    """A judge that reads each text once for a query."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._said: dict[tuple[str, str], float] = {}

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers."""
        new = [text for text in texts if (query, text) not in self._said]
        said = self._reranker.score(query, new, CancelToken()) if new else []
        self._said.update(((query, text), it) for text, it in zip(new, said, strict=True))
        return [self._said[query, text] for text in texts]


def main(options: argparse.Namespace) -> None:
    """Ask every question in every way."""
    score = quality_replay.load_score_module(BENCH)
    roots, tasks = score.load(BENCH, options.repos, options.only, chinese=False)
    ways = [(files, weight) for files in NUMBERS_OF_FILES for weight in WEIGHTS]
    found: dict[Way, Rows] = defaultdict(list)
    searcher = Indexed()
    with ModelPool().acquire_reranker(options.folder, Performance()) as reranker:
        for repo, root in roots.items():
            handle = searcher.index(root)
            index = quality_replay.CachedIndex(handle[0])
            judged = Searcher(root, cast("SearchableIndex", index), ReadOnce(reranker))
            for way in ways:
                with apply_setting(_setting(way)):
                    found[way] += [
                        (task, _ndcg(score, judged, task)) for task in tasks if task.repo == repo
                    ]
            searcher.close(handle)
            print(repo, flush=True)
    for files in NUMBERS_OF_FILES:
        rows = {weight: found[files, weight] for weight in WEIGHTS}
        for weight, every in [*rows.items(), ("chosen", list(_chosen(rows)))]:
            print(f"{files:2} files {weight:6} {_means(score, rows[0.0], every)}", flush=True)


def _setting(way: Way) -> Setting:
    files, weight = way
    return (
        Change("reranking", "MAX_RERANKED_FILES", files),
        Change("reranking", "RERANKER_WEIGHT", weight),
    )


def _ndcg(score: Any, searcher: Searcher, task: Any) -> float:
    answered = searcher.search(task.query, HITS, accuracy=True)
    hits = [quality_replay.build_hit(score, hit.chunk) for hit in answered]
    value: float = score.score(hits, hits, task)["ndcg10"]
    return value


def _chosen(rows: Mapping[float, Rows]) -> Iterator[tuple[Any, float]]:
    """Each task with the weight that is best for all languages but its own."""
    languages = {task.language for task, _ in rows[0.0]}
    best = {
        own: max(rows, key=lambda w: fmean(it for task, it in rows[w] if task.language != own))
        for own in languages
    }
    for place, (task, _) in enumerate(rows[0.0]):
        yield task, rows[best[task.language]][place][1]


def _means(score: Any, before: Rows, after: Rows) -> str:
    by_repo = defaultdict(list)
    for task, value in after:
        by_repo[task.repo].append(value)
    hard = [place for place, (task, _) in enumerate(after) if not score.named_in_query(task)]
    parts = [f"all {fmean(map(fmean, by_repo.values())):.4f}", _gain(before, after)]
    harder = [[rows[place] for place in hard] for rows in (before, after)]
    return " ".join([*parts, f"harder {fmean(it for _, it in harder[1]):.4f}", _gain(*harder)])


def _gain(before: Rows, after: Rows) -> str:
    gain = compute_difference([it for _, it in before], [it for _, it in after])
    return f"({gain.mean:+.4f}, {gain.low:+.4f} to {gain.high:+.4f})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repos", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="these repositories")
    main(parser.parse_args())
