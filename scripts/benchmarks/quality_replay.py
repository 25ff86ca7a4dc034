"""Rank the same queries again and again: what was retrieved is cached, only ranking runs."""

import importlib.util
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

from codekernel.domain.index import IndexedChunk
from codekernel.search.pipeline import Searcher
from codekernel.search.retrieval import SearchableIndex
from codekernel.search.searchable import SearchableStore
from kernel_searchers import Static
from quality_settings import Setting, apply_setting

HITS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A query, without its text."""

    repo: str
    language: str
    category: str
    named: bool
    chinese: bool


@dataclass(frozen=True, slots=True)
class Replay:
    """NDCG@10 of every query under every setting."""

    rows: Sequence[Row]
    scores: Mapping[Setting, Sequence[float]]

    def average_repositories(
        self,
        setting: Setting,
        is_wanted: Callable[[Row], bool] = lambda _: True,
        *,
        chinese: bool = False,
    ) -> float:
        """Return the mean over repositories of their queries' means."""
        by_repo: dict[str, list[float]] = defaultdict(list)
        for row, score in zip(self.rows, self.scores[setting], strict=True):
            if row.chinese is chinese and is_wanted(row):
                by_repo[row.repo].append(score)
        return fmean(map(fmean, by_repo.values())) if by_repo else 0.0

    def average_queries(self, setting: Setting, is_wanted: Callable[[Row], bool]) -> float:
        """Return the mean over English queries."""
        pairs = zip(self.rows, self.scores[setting], strict=True)
        found = [score for row, score in pairs if not row.chinese and is_wanted(row)]
        return fmean(found) if found else 0.0


class CachedCalls:
    """An object whose methods are called once for each of their arguments."""

    def __init__(self, target: object) -> None:
        self._target = target
        self._results: dict[Hashable, object] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **named: Any) -> object:
            hashable = tuple(tuple(it) if isinstance(it, list) else it for it in arguments)
            key = (name, hashable, tuple(sorted(named.items())))
            if key not in self._results:
                self._results[key] = value(*arguments, **named)
            return self._results[key]

        self.__dict__[name] = call
        return call


class CachedStore:
    """A store that reads everything once."""

    def __init__(self, store: SearchableStore) -> None:
        self.catalog = CachedCalls(store.catalog)
        self.lexical = CachedCalls(store.lexical)


class CachedIndex:
    """An index that retrieves everything once."""

    def __init__(self, index: SearchableIndex) -> None:
        self.store: Any = CachedStore(index.store)
        self.vector_indexes: Any = tuple(map(CachedCalls, index.vector_indexes))


def load_score_module(bench: Path) -> ModuleType:
    """Return the benchmark's own score.py."""
    spec = importlib.util.spec_from_file_location("score", bench / "score.py")
    assert spec  # noqa: S101 - a file has one
    assert spec.loader  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules["score"] = module
    spec.loader.exec_module(module)
    return module


def replay(
    bench: Path, repos: Path, only: Sequence[str], settings: Sequence[Setting], *, chinese: bool
) -> Replay:
    """Rank every query of every repository under every setting."""
    score = load_score_module(bench)
    roots, tasks = score.load(bench, repos, list(only), chinese=False)
    queries = [(task, False) for task in tasks]
    if chinese:
        queries += [(task, True) for task in score.load(bench, repos, list(only), chinese=True)[1]]
    static = Static()
    rows: list[Row] = []
    scores: dict[Setting, list[float]] = {setting: [] for setting in settings}
    for name, root in roots.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        own = [(task, is_chinese) for task, is_chinese in queries if task.repo == name]
        rows += [
            Row(name, task.language, task.category, score.named_in_query(task), is_chinese)
            for task, is_chinese in own
        ]
        handle = static.index(root)
        searcher = Searcher(root, CachedIndex(handle[0]))
        for setting in settings:
            with apply_setting(setting):
                for task, _ in own:
                    hits = [
                        build_hit(score, hit.chunk) for hit in searcher.search(task.query, HITS)
                    ]
                    scores[setting].append(score.score(hits, hits, task)["ndcg10"])
        static.close(handle)
    return Replay(rows, scores)


def build_hit(score: ModuleType, chunk: IndexedChunk) -> object:
    """Return a chunk as the benchmark's hit, with lines counted from 1."""
    hit: object = score.Hit(chunk.path, chunk.begin_line + 1, chunk.end_line)
    return hit
