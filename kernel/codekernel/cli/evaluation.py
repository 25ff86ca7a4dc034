"""Evaluate search on a repository's own commits.

Mine questions from history, run them under several settings, compare NDCG, recall and MRR, and
report as a table or JSON.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from codekernel.cli.project_folder import find_index_folder, find_project_root
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Settings
from codekernel.errors import InvalidModel, StorageError
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan, build_index_plan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.indexing.vector_index import VectorIndex
from codekernel.inference.model_pool import ModelPool
from codekernel.search.evaluation import (
    METRIC_CUTOFF,
    EvalQuestion,
    MetricDifference,
    RetrievalMetrics,
    average_metrics,
    compute_difference,
    compute_metrics,
    mine_questions,
)
from codekernel.search.git_history import HistoryUnavailable, read_commits
from codekernel.search.pipeline import RerankFunction, Searcher
from codekernel.settings.loading import load_settings_file
from codekernel.storage.index_store import IndexStore
from codekernel.storage.user_data import UserData

# Below this an interval is so wide that hardly any difference could show.
MIN_QUESTIONS = 30

_SECONDS_PER_MINUTE = 60

_MINUTES_PER_HOUR = 60

_TABLE_COLUMNS = ("NDCG@10", "recall@10", "  MRR", "hit@1")


@dataclass(frozen=True, slots=True)
class SettingResult:
    """How one setting did, question by question."""

    setting: str
    measures: tuple[RetrievalMetrics, ...]
    # The part of them whose message does not name a file it changed.
    unnamed_measures: tuple[RetrievalMetrics, ...]
    milliseconds: float

    @property
    def scores(self) -> list[float]:
        """What differences are taken of."""
        return [one.ndcg for one in self.measures]


@dataclass(frozen=True, slots=True)
class SettingComparison:
    """What something adds to a setting, and what it costs."""

    candidate: str
    baseline: str
    difference: MetricDifference
    cost: str = ""

    @property
    def advice(self) -> str:
        """One sentence; honest where the figures say nothing."""
        found, cost = self.difference, f"; it costs {self.cost}" if self.cost else ""
        interval = f"{found.low:+.3f} to {found.high:+.3f}"
        if found.is_noise:
            return (
                f"{self.candidate}: {found.mean:+.3f} against {self.baseline} is within noise "
                f"({interval}), so it is not shown to help or to harm on your code{cost}."
            )
        if found.mean > 0:
            return (
                f"{self.candidate} gains {found.mean:.3f} ({interval}) over {self.baseline} "
                f"on your code{cost}."
            )
        return (
            f"{self.candidate} loses {-found.mean:.3f} ({interval}) to "
            f"{self.baseline}: leave it off."
        )


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Everything that was found."""

    repository: Path
    results: tuple[SettingResult, ...]
    comparisons: tuple[SettingComparison, ...]
    remarks: tuple[str, ...]

    def format_lines(self) -> Iterator[str]:
        """For people."""
        first = self.results[0]
        yield f"{self.repository}: does a search for a commit's message find the files it changed?"
        yield (
            f"commits asked: {len(first.measures)}; their message names no file: "
            f"{len(first.unnamed_measures)}"
        )
        yield ""
        width = max(len(outcome.setting) for outcome in self.results)
        group = sum(map(len, _TABLE_COLUMNS)) + 2 * (len(_TABLE_COLUMNS) - 1)
        yield f"{'':{width}}  {'all':{group}}  file not named"
        head = "  ".join(_TABLE_COLUMNS)
        yield f"{'setting':{width}}  {head}  {head}  ms/query"
        for outcome in self.results:
            both = f"{_format_row(outcome.measures)}  {_format_row(outcome.unnamed_measures)}"
            yield f"{outcome.setting:{width}}  {both}  {outcome.milliseconds:8.1f}"
        yield ""
        yield from (comparison.advice for comparison in self.comparisons)
        if len(first.measures) < MIN_QUESTIONS:
            yield f"So few commits ({len(first.measures)}) give no more than a hint."
        yield from self.remarks

    def to_json(self) -> str:
        """For programs."""
        content = {
            "repository": str(self.repository),
            "commits": len(self.results[0].measures),
            "commitsWithoutFileName": len(self.results[0].unnamed_measures),
            "settings": [
                {
                    "name": outcome.setting,
                    "all": _round_measures(outcome.measures),
                    "fileNotNamed": _round_measures(outcome.unnamed_measures),
                    "millisecondsPerQuery": round(outcome.milliseconds, 3),
                }
                for outcome in self.results
            ],
            "comparisons": [
                {
                    "what": each.candidate,
                    "against": each.baseline,
                    **{name: round(value, 4) for name, value in asdict(each.difference).items()},
                    "withinNoise": each.difference.is_noise,
                    "cost": each.cost,
                    "advice": each.advice,
                }
                for each in self.comparisons
            ],
            "remarks": list(self.remarks),
        }
        return json.dumps(content, indent=2)


def describe_duration(seconds: float) -> str:
    """About how long something takes, in words."""
    if seconds < 1:
        return "less than a second"
    if seconds < _SECONDS_PER_MINUTE:
        return f"about {seconds:.0f} seconds"
    minutes = seconds / _SECONDS_PER_MINUTE
    if minutes < _MINUTES_PER_HOUR:
        return f"about {minutes:.0f} minutes"
    return f"about {minutes / _MINUTES_PER_HOUR:.1f} hours"


def _format_row(each: Sequence[RetrievalMetrics]) -> str:
    found = average_metrics(each)
    values = (found.ndcg, found.recall, found.reciprocal_rank, found.first)
    return "  ".join(
        f"{value:{len(name)}.3f}" if each else f"{'-':>{len(name)}}"
        for name, value in zip(_TABLE_COLUMNS, values, strict=True)
    )


def _round_measures(each: Sequence[RetrievalMetrics]) -> dict[str, float] | None:
    if not each:
        return None
    found = average_metrics(each)
    values = (found.ndcg, found.recall, found.reciprocal_rank, found.first)
    names = ("ndcg10", "recall10", "mrr", "hit1")
    return {name: round(value, 4) for name, value in zip(names, values, strict=True)}


LEXICAL_ONLY = "words alone"

# Texts that a model is timed on: a few batches of the slowest one.
MAX_TIMED_TEXTS = 48

ShowProgress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EvaluatedIndex:
    """An index of which only some embedding configs are looked at."""

    store: IndexStore
    vector_indexes: Sequence[VectorIndex]


@dataclass(frozen=True, slots=True)
class EvaluationTrials:
    """The questions and the index that they are put to."""

    root: Path
    index: RepositoryIndex
    questions: Sequence[EvalQuestion]
    show_progress: ShowProgress

    def run_setting(
        self,
        setting: str,
        vector_indexes: Sequence[VectorIndex],
        reranker: RerankFunction | None = None,
        *,
        accuracy: bool = False,
    ) -> SettingResult:
        """Ask every question."""
        searcher = Searcher(self.root, EvaluatedIndex(self.index.store, vector_indexes), reranker)
        each, milliseconds = [], []
        for number, question in enumerate(self.questions, 1):
            self.show_progress(f"{setting}: {number} of {len(self.questions)}")
            started = time.perf_counter()
            hits = searcher.search(question.text, METRIC_CUTOFF, accuracy=accuracy)
            milliseconds.append((time.perf_counter() - started) * 1e3)
            each.append(compute_metrics([hit.chunk.path for hit in hits], question.paths))
        unnamed = [
            one for one, asked in zip(each, self.questions, strict=True) if not asked.is_file_named
        ]
        typical = sorted(milliseconds)[len(milliseconds) // 2]
        return SettingResult(setting, tuple(each), tuple(unnamed), typical)

    def sample_texts(self) -> list[str]:
        """Some chunks of this repository, as a model would read them."""
        found: dict[int, str] = {}
        searcher = Searcher(self.root, EvaluatedIndex(self.index.store, ()))
        for question in self.questions:
            if len(found) >= MAX_TIMED_TEXTS:
                break
            hits = searcher.search(question.text, METRIC_CUTOFF)
            found.update((hit.chunk.text_hash, hit.content) for hit in hits)
        return list(found.values())[:MAX_TIMED_TEXTS]


def run_trials(
    trials: EvaluationTrials, plan: IndexPlan, settings: Settings, model_pool: ModelPool
) -> tuple[list[SettingResult], list[SettingComparison], list[str]]:
    """The outcomes, what they say, and what could not be tried."""
    arms = trials.index.vector_indexes
    tried = {arm.config for arm in arms}
    remarks = [
        f"{config.name} was not tried: its model cannot be used (codekernel models says why)."
        for config in plan.configs
        if config not in tried
    ]
    words = trials.run_setting(LEXICAL_ONLY, ())
    outcomes, comparisons = [words], []
    alone = []
    for arm in arms:
        outcome = trials.run_setting(f"words + {arm.config.name}", (arm,))
        cost = _estimate_embedding_cost(trials, arm, plan, model_pool)
        alone.append(outcome)
        comparisons.append(_compare_results(arm.config.name, words, outcome, cost))
    outcomes += alone
    if len(alone) > 1:
        everything = trials.run_setting("words + all of these", arms)
        outcomes.append(everything)
        best = max(alone, key=lambda outcome: sum(outcome.scores))
        comparisons.append(_compare_results("All together", best, everything, ""))
    accurate = trials.run_setting("all, accuracy asked for", arms, accuracy=True)
    cost = f"{accurate.milliseconds - outcomes[-1].milliseconds:.0f} ms per search"
    comparisons.append(_compare_results("Accuracy", outcomes[-1], accurate, cost))
    outcomes.append(accurate)
    try:
        with _open_reranker(settings, model_pool) as judge:
            if judge:
                reranked = trials.run_setting("all + reranker", arms, judge, accuracy=True)
                cost = f"{reranked.milliseconds - outcomes[-1].milliseconds:.0f} ms per search"
                comparisons.append(_compare_results("The reranker", outcomes[-1], reranked, cost))
                outcomes.append(reranked)
    except InvalidModel as error:
        remarks.append(f"The reranker was not tried: {error}.")
    return outcomes, comparisons, remarks


def _compare_results(
    what: str, before: SettingResult, after: SettingResult, cost: str
) -> SettingComparison:
    return SettingComparison(
        what, before.setting, compute_difference(before.scores, after.scores), cost
    )


def _estimate_embedding_cost(
    trials: EvaluationTrials, vector_index: VectorIndex, plan: IndexPlan, model_pool: ModelPool
) -> str:
    """How long this model takes for the whole repository, by the time it takes for a few texts."""
    texts = trials.sample_texts()
    if not texts:
        return ""
    seconds = _time_embedding(texts, vector_index.config, plan, model_pool)
    chunks = vector_index.get_status(chunks=0, files=0).chunks
    return f"{describe_duration(seconds / len(texts) * chunks)} to embed {chunks} chunks"


def _time_embedding(
    texts: Sequence[str], config: ConfigPlan, plan: IndexPlan, model_pool: ModelPool
) -> float:
    with model_pool.acquire_embedder(config.model, plan.performance) as embedder:
        started = time.perf_counter()
        embedder.embed_documents(list(texts), CancelToken())
        return time.perf_counter() - started


@contextmanager
def _open_reranker(settings: Settings, model_pool: ModelPool) -> Iterator[RerankFunction | None]:
    paths = {model.name: model.path for model in settings.local_models}
    chosen = [config.model_name for config in settings.rerank_configs if config.is_selected]
    if not chosen or chosen[0] not in paths:
        yield None
        return
    with model_pool.acquire_reranker(paths[chosen[0]], settings.performance) as reranker:
        yield lambda query, texts: reranker.score(query, texts, CancelToken())


POLL_INTERVAL_SECONDS = 0.1


def evaluate_repository(
    user_data: UserData, folder: str | None, max_commits: int, show_progress: ShowProgress
) -> EvaluationReport:
    """Ask about at most so many commits; raises KernelError where nothing can be asked."""
    root = find_project_root(folder)
    # Without a history to ask about, nobody should wait for an index.
    _mine_questions(root, lambda path: (root / path).is_file(), max_commits=1)
    settings, plan = _load_settings(user_data)
    shelf = ModelPool()
    index = RepositoryIndex(root, find_index_folder(root, user_data, os.environ), lambda: shelf)
    with closing(index):
        if index.store.writer is None:
            raise StorageError(
                f"another codekernel has {root} open; close it there, or give another --user-data"
            )
        index.start(plan)
        _wait_until_indexed(index, show_progress)
        catalogue = index.store.catalog
        asked = _mine_questions(
            root, lambda path: catalogue.find_file(path) is not None, max_commits
        )
        trials = EvaluationTrials(root, index, asked, show_progress)
        outcomes, comparisons, remarks = run_trials(trials, plan, settings, shelf)
    return EvaluationReport(root, tuple(outcomes), tuple(comparisons), tuple(remarks))


def _mine_questions(
    root: Path, is_indexed: Callable[[str], bool], max_commits: int
) -> list[EvalQuestion]:
    with closing(read_commits(root)) as history:
        asked = mine_questions(history, is_indexed, max_commits)
    if not asked:
        raise HistoryUnavailable(
            f"no commit of {root} can be asked: all are merges, releases, the work of bots, too "
            "large, too short, or about files that are not there any more"
        )
    return asked


def _load_settings(user_data: UserData) -> tuple[Settings, IndexPlan]:
    settings, warnings = load_settings_file(user_data.settings_file)
    # On the word of a fallback no vectors are deleted.
    return settings, build_index_plan(settings, is_certain=not warnings)


def _wait_until_indexed(index: RepositoryIndex, show_progress: ShowProgress) -> None:
    while not index.is_idle:
        status = index.get_status()
        left = [config.seconds_left for config in status.configs if config.seconds_left]
        eta = f", {sum(left):.0f} s left" if left else ""
        show_progress(f"indexing: {status.files} files, {status.chunks} chunks{eta}")
        time.sleep(POLL_INTERVAL_SECONDS)
