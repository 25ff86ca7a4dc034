"""The whole search with a cross-encoder's opinion: ``cross_judge.py REPOS PACK CE.pt [options]``.

The best chunk of each of the first files is read; what the model says of it is stretched over 0..1
and a weight of the best score is shared out accordingly, to all chunks of the file (*by file*), or
to each of the first chunks by itself (*by chunk*). Prints NDCG@10 for each weight, on top of the
default order and of the second look, and what a weight chosen on the other languages gives.
``CODEKERNEL_BENCH_CACHE`` keeps the indexes, CE.opinions what the model said.
"""

import argparse
import pickle
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import beside
import quality_replay
import torch
from cross_encoder import QUERY_TOKENS, CrossEncoder
from kernel_searchers import Static as Indexed

from kernel.domain.chunk import embedded_text
from kernel.search import second_look
from kernel.search.query import Kind, Query
from kernel.search.ranking import Ranked
from kernel.search.searcher import Searcher

BENCH = beside.ROOT.parent / "shared" / "bench"
HITS = 10
TOGETHER = 32  # texts
WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
KINDS = {Kind.PROSE, Kind.HAN}

Pair = tuple[str, str]  # a query, and a path with a text
Way = tuple[str, float]  # by file or by chunk, and the weight


@dataclass
class Opinions:
    """What the model has said so far, how it is heard, and what it is still to be asked."""

    model: CrossEncoder
    length: int
    most: int
    file: Path
    said: dict[Pair, float]
    way: Way = ("by file", 0.0)
    lacking: list[Pair] = field(default_factory=list)

    def ask(self) -> None:
        """Ask the model for what is lacking."""
        wanted = sorted(set(self.lacking), key=lambda pair: len(pair[1]))
        self.lacking.clear()
        for start in range(0, len(wanted), TOGETHER):
            some = wanted[start : start + TOGETHER]
            tokens = [
                (self.model.tokens(query, QUERY_TOKENS), self.model.tokens(text, self.length))
                for query, text in some
            ]
            with torch.no_grad():
                numbers = self.model(tokens).tolist()
            self.said.update(zip(some, numbers, strict=True))
        self.file.write_bytes(pickle.dumps(self.said))


class Judged(Searcher):
    """A search whose judge is ``Opinions``."""

    def _reranked(self, query: Query, ranked: list[Ranked], judge: Opinions) -> list[Ranked]:
        how, weight = judge.way
        if query.kind not in KINDS or len(ranked) < 2:  # noqa: PLR2004 - nothing to put in order
            return ranked
        pairs = self._pairs(query, _heard(ranked, how, judge.most))
        if missing := [pair for pair in pairs.values() if pair not in judge.said]:
            judge.lacking += missing
            return ranked
        told = [judge.said[pair] for pair in pairs.values()]
        low, high = min(told), max(told)
        gain = {
            key: weight * ranked[0].score * (number - low) / max(high - low, 1e-6)
            for key, number in zip(pairs, told, strict=True)
        }
        for each in ranked:
            each.score += gain.get(each.chunk.path if how == "by file" else each.chunk.id, 0.0)
        return sorted(ranked, key=lambda each: -each.score)

    def _pairs(self, query: Query, heard: Mapping[object, Ranked]) -> dict[object, Pair]:
        ids = [each.chunk.id for each in heard.values()]
        contents = self.index.store.catalogue.contents(ids)
        return {
            key: (
                query.meant,
                f"{each.chunk.path}\n"
                + embedded_text(each.chunk.chunk.symbols, contents.get(each.chunk.id, "")),
            )
            for key, each in heard.items()
        }


def _heard(ranked: Sequence[Ranked], how: str, most: int) -> dict[object, Ranked]:
    found: dict[object, Ranked] = {}
    for each in ranked:
        found.setdefault(each.chunk.path if how == "by file" else each.chunk.id, each)
        if len(found) == most:
            break
    return found


def main(options: argparse.Namespace) -> None:
    """Ask every question in every way."""
    torch.set_num_threads(2)
    model = CrossEncoder(options.pack, options.apart)
    model.load_state_dict(torch.load(options.model)["model"])
    model.eval()
    file = options.model.with_suffix(".opinions")
    known = pickle.loads(file.read_bytes()) if file.exists() else {}  # noqa: S301 - our own file
    opinions = Opinions(model, options.length, options.read, file, known)
    score = quality_replay.score_module(BENCH)
    roots, english = score.load(BENCH, options.repos, options.only, chinese=False)
    _, chinese = score.load(BENCH, options.repos, options.only, chinese=True)
    asked = [*english, *chinese] if options.chinese else english
    ways = [(how, weight) for how in options.ways for weight in WEIGHTS]
    found: dict[tuple[str, Way], list[tuple[object, float]]] = defaultdict(list)
    searcher, began = Indexed(), time.monotonic()
    for repo, root in roots.items():
        tasks = [task for task in asked if task.repo == repo]
        handle = searcher.index(root)
        judged = Judged(root, quality_replay._Index(handle[0]), opinions)  # noqa: SLF001
        for base in _bases():
            for way in ways:
                opinions.way = way
                rows = [(task, _ndcg(score, judged, task)) for task in tasks]
                if opinions.lacking:
                    opinions.ask()
                    rows = [(task, _ndcg(score, judged, task)) for task in tasks]
                found[base, way] += rows
        searcher.close(handle)
        print(f"{repo} {len(opinions.said):,} read, {time.monotonic() - began:.0f} s", flush=True)
    _report(score, found, ways)


def _bases() -> Iterator[str]:
    """The search with and without the second look."""
    kept = second_look.MEANING, second_look.PATH
    yield "second look"
    second_look.MEANING = second_look.PATH = 0.0
    yield "more candidates only"
    second_look.MEANING, second_look.PATH = kept


def _ndcg(score: object, searcher: Searcher, task: object) -> float:
    answered = searcher.search(task.query, HITS, accuracy=True)
    hits = [quality_replay._hit(score, hit) for hit in answered]  # noqa: SLF001
    value: float = score.score(hits, hits, task)["ndcg10"]
    return value


def _report(
    score: object, found: Mapping[tuple[str, Way], list[tuple[object, float]]], ways: Sequence[Way]
) -> None:
    for base in dict.fromkeys(name for name, _ in found):
        for how in dict.fromkeys(name for name, _ in ways):
            rows = {weight: found[base, (how, weight)] for weight in WEIGHTS}
            for weight, every in rows.items():
                print(f"{base:22} {how:9} {weight:4} {_means(score, every)}")
            print(f"{base:22} {how:9} chosen {_means(score, list(_chosen(rows)))}", flush=True)


def _chosen(rows: Mapping[float, list[tuple[object, float]]]) -> Iterator[tuple[object, float]]:
    """Each language with the weight that is best for all the others."""
    tasks = [task for task, _ in rows[0.0]]
    for language in sorted({task.language for task in tasks}):
        best = max(
            rows, key=lambda w: fmean(value for task, value in rows[w] if task.language != language)
        )
        yield from ((task, value) for task, value in rows[best] if task.language == language)


def _means(score: object, rows: Sequence[tuple[object, float]]) -> str:
    by_repo, hard, chinese = defaultdict(list), [], defaultdict(list)
    for task, value in rows:
        if task.query != task.words:
            chinese[task.repo].append(value)
            continue
        by_repo[task.repo].append(value)
        if not score.named_in_query(task):
            hard.append(value)
    shown = f"all {fmean(map(fmean, by_repo.values())):.4f} harder {fmean(hard):.4f}"
    return shown + (f" Chinese {fmean(map(fmean, chinese.values())):.4f}" if chinese else "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repos", type=Path)
    parser.add_argument("pack", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--apart", type=int, default=3)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--read", type=int, default=30, help="texts of one query")
    parser.add_argument("--ways", nargs="+", default=["by file"])
    parser.add_argument("--only", nargs="*", default=[], help="these repositories")
    parser.add_argument("--chinese", action="store_true")
    main(parser.parse_args())
