"""The same queries ranked again and again: what was retrieved is remembered, only ranking runs."""

import importlib.util
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from types import ModuleType

from codekernel.search.pipeline import Searcher
from kernel_searchers import Static
from quality_settings import Setting, in_force

HITS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A query, without its words."""

    repo: str
    language: str
    category: str
    named: bool
    chinese: bool


@dataclass(frozen=True, slots=True)
class Replayed:
    """NDCG@10 of every query under every setting."""

    rows: Sequence[Row]
    scores: Mapping[Setting, Sequence[float]]

    def overall(
        self,
        setting: Setting,
        wanted: Callable[[Row], bool] = lambda _: True,
        *,
        chinese: bool = False,
    ) -> float:
        """The mean over repositories of their queries' means."""
        by_repo: dict[str, list[float]] = defaultdict(list)
        for row, score in zip(self.rows, self.scores[setting], strict=True):
            if row.chinese is chinese and wanted(row):
                by_repo[row.repo].append(score)
        return fmean(map(fmean, by_repo.values())) if by_repo else 0.0

    def plain(self, setting: Setting, wanted: Callable[[Row], bool]) -> float:
        """The mean over queries."""
        pairs = zip(self.rows, self.scores[setting], strict=True)
        found = [score for row, score in pairs if not row.chinese and wanted(row)]
        return fmean(found) if found else 0.0


class Remembering:
    """An object whose methods are called once for each of their arguments."""

    def __init__(self, target: object) -> None:
        self._target = target
        self._known: dict[Hashable, object] = {}

    def __getattr__(self, name: str) -> object:
        value = getattr(self._target, name)
        if not callable(value):
            return value

        def remembered(*arguments: object, **named: object) -> object:
            shown = tuple(tuple(it) if isinstance(it, list) else it for it in arguments)
            key = (name, shown, tuple(sorted(named.items())))
            if key not in self._known:
                self._known[key] = value(*arguments, **named)
            return self._known[key]

        self.__dict__[name] = remembered
        return remembered


class _Store:
    def __init__(self, store: object) -> None:
        self.catalogue = Remembering(store.catalogue)
        self.lexical = Remembering(store.lexical)
        self.writer = store.writer


class _Index:
    """An index that remembers what it was asked."""

    def __init__(self, index: object) -> None:
        self.store = _Store(index.store)
        self.vector_indexes = tuple(map(Remembering, index.arms))


def score_module(bench: Path) -> ModuleType:
    """The benchmark's own score.py."""
    spec = importlib.util.spec_from_file_location("score", bench / "score.py")
    assert spec  # noqa: S101 - a file has one
    assert spec.loader  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules["score"] = module
    spec.loader.exec_module(module)
    return module


def replayed(
    bench: Path, repos: Path, only: Sequence[str], settings: Sequence[Setting], *, chinese: bool
) -> Replayed:
    """Rank every query of every repository under every setting."""
    score = score_module(bench)
    roots, tasks = score.load(bench, repos, list(only), chinese=False)
    asked = [(task, False) for task in tasks]
    if chinese:
        asked += [(task, True) for task in score.load(bench, repos, list(only), chinese=True)[1]]
    searcher = Static()
    rows: list[Row] = []
    scores: dict[Setting, list[float]] = {setting: [] for setting in settings}
    for name, root in roots.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        mine = [(task, zh) for task, zh in asked if task.repo == name]
        rows += [
            Row(name, task.language, task.category, score.named_in_query(task), zh)
            for task, zh in mine
        ]
        handle = searcher.index(root)
        ranking = Searcher(root, _Index(handle[0]))
        for setting in settings:
            with in_force(setting):
                for task, _ in mine:
                    hits = [_hit(score, hit) for hit in ranking.search(task.query, HITS)]
                    scores[setting].append(score.score(hits, hits, task)["ndcg10"])
        searcher.close(handle)
    return Replayed(rows, scores)


def _hit(score: ModuleType, hit: object) -> object:
    chunk = hit.chunk
    return score.Hit(hit.chunk.path, chunk.begin_line + 1, chunk.end_line)
