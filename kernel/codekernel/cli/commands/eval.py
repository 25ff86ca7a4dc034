"""``codekernel eval``: measure how well search finds the files that commits changed.

Mine questions from the repository's history, run them under several settings and compare NDCG,
recall and MRR; report the metrics per setting and what each addition gains. Writes nothing but the
index.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from codekernel.cli.folder_index import FolderIndexView
from codekernel.cli.model_selection import acquire_selected_reranker, get_model_pool
from codekernel.cli.output.terminal import StatusLine, write_lines
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_index_folder, find_project_root
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Settings
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import InvalidModel, KernelError, StorageError
from codekernel.indexing.index_plan import IndexPlan, build_index_plan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.indexing.vector_index import VectorIndex
from codekernel.search import evaluation
from codekernel.search.evaluation import (
    EvalQuestion,
    MetricDifference,
    RetrievalMetrics,
    average_metrics,
)
from codekernel.search.git_history import HistoryUnavailable, read_commits
from codekernel.search.pipeline import RerankFunction, Searcher
from codekernel.settings.loading import load_settings_file
from codekernel.storage.user_data import UserData, open_user_data

POLL_INTERVAL_SECONDS = 0.1

LEXICAL_ONLY = "words alone"

# Texts that a model is timed on: a few batches of the slowest one.
MAX_TIMED_TEXTS = 48


# Below this an interval is so wide that hardly any difference could show.
MIN_QUESTIONS = 30

_TABLE_COLUMNS = ("NDCG@10", "recall@10", "  MRR", "hit@1")


@dataclass(frozen=True, slots=True)
class SettingResult:
    """The metrics of one setting, question by question."""

    setting: str
    measures: tuple[RetrievalMetrics, ...]
    # Those of commits whose message names no file that it changed.
    unnamed_measures: tuple[RetrievalMetrics, ...]
    milliseconds: float

    @property
    def scores(self) -> list[float]:
        """The NDCG of each question, which differences are computed from."""
        return [one.ndcg for one in self.measures]


@dataclass(frozen=True, slots=True)
class SettingComparison:
    """What an addition gains over a setting, and what it costs."""

    candidate: str
    baseline: str
    difference: MetricDifference
    cost: str = ""

    @property
    def advice(self) -> str:
        """One sentence, which says so where the difference is within noise."""
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
    """The results and comparisons of one repository."""

    repository: Path
    results: tuple[SettingResult, ...]
    comparisons: tuple[SettingComparison, ...]
    remarks: tuple[str, ...]

    def format_lines(self) -> Iterator[str]:
        """Return a table and advice for people."""
        first = self.results[0]
        yield f"{self.repository}: does a search for a commit's message find the files it changed?"
        yield (
            f"commits asked: {len(first.measures)}; their message names no file: "
            f"{len(first.unnamed_measures)}"
        )
        yield ""
        width = max(len(result.setting) for result in self.results)
        group = sum(map(len, _TABLE_COLUMNS)) + 2 * (len(_TABLE_COLUMNS) - 1)
        yield f"{'':{width}}  {'all':{group}}  file not named"
        head = "  ".join(_TABLE_COLUMNS)
        yield f"{'setting':{width}}  {head}  {head}  ms/query"
        for result in self.results:
            both = f"{_format_row(result.measures)}  {_format_row(result.unnamed_measures)}"
            yield f"{result.setting:{width}}  {both}  {result.milliseconds:8.1f}"
        yield ""
        yield from (comparison.advice for comparison in self.comparisons)
        if len(first.measures) < MIN_QUESTIONS:
            yield f"So few commits ({len(first.measures)}) give no more than a hint."
        yield from self.remarks

    def to_json(self) -> str:
        """Return the report as JSON for programs."""
        content = {
            "repository": str(self.repository),
            "commits": len(self.results[0].measures),
            "commitsWithoutFileName": len(self.results[0].unnamed_measures),
            "settings": [
                {
                    "name": result.setting,
                    "all": _round_measures(result.measures),
                    "fileNotNamed": _round_measures(result.unnamed_measures),
                    "millisecondsPerQuery": round(result.milliseconds, 3),
                }
                for result in self.results
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


@dataclass(frozen=True, slots=True)
class EvaluationTrials:
    """The questions and the index that answers them."""

    root: Path
    index: RepositoryIndex
    questions: Sequence[EvalQuestion]
    progress: StatusLine

    def run_setting(
        self,
        setting: str,
        vector_indexes: tuple[VectorIndex, ...],
        reranker: RerankFunction | None = None,
        *,
        accuracy: bool = False,
    ) -> SettingResult:
        """Search for every question under one setting."""
        searcher = Searcher(self.root, FolderIndexView(self.index.store, vector_indexes), reranker)
        measures, milliseconds = [], []
        for number, question in enumerate(self.questions, 1):
            self.progress.draw(escape_line(f"{setting}: {number} of {len(self.questions)}"))
            started = time.perf_counter()
            hits = searcher.search(question.text, evaluation.METRIC_CUTOFF, accuracy=accuracy)
            milliseconds.append((time.perf_counter() - started) * 1e3)
            paths = [hit.chunk.path for hit in hits]
            measures.append(evaluation.compute_metrics(paths, question.paths))
        unnamed = [
            measured
            for measured, question in zip(measures, self.questions, strict=True)
            if not question.is_file_named
        ]
        median = sorted(milliseconds)[len(milliseconds) // 2]
        return SettingResult(setting, tuple(measures), tuple(unnamed), median)

    def sample_texts(self) -> list[str]:
        """Return some chunks of this repository, as a model would read them."""
        found: dict[int, str] = {}
        searcher = Searcher(self.root, FolderIndexView(self.index.store, ()))
        for question in self.questions:
            if len(found) >= MAX_TIMED_TEXTS:
                break
            hits = searcher.search(question.text, evaluation.METRIC_CUTOFF)
            found.update((hit.chunk.text_hash, hit.content) for hit in hits)
        return list(found.values())[:MAX_TIMED_TEXTS]


def run_trials(
    trials: EvaluationTrials, plan: IndexPlan, settings: Settings
) -> tuple[list[SettingResult], list[SettingComparison], list[str]]:
    """Run every setting; return the results, their comparisons, and what could not be tried."""
    vector_indexes = trials.index.vector_indexes
    tried = {vectors.config for vectors in vector_indexes}
    remarks = [
        f"{config.name} was not tried: its model cannot be used (codekernel models says why)."
        for config in plan.configs
        if config not in tried
    ]
    lexical = trials.run_setting(LEXICAL_ONLY, ())
    results, comparisons = [lexical], []
    for vectors in vector_indexes:
        result = trials.run_setting(f"words + {vectors.config.name}", (vectors,))
        results.append(result)
        cost = _estimate_embedding_cost(trials, vectors, plan)
        comparisons.append(_compare_results(vectors.config.name, lexical, result, cost))
    if len(vector_indexes) > 1:
        best = max(results[1:], key=lambda result: sum(result.scores))
        results.append(trials.run_setting("words + all of these", vector_indexes))
        comparisons.append(_compare_results("All together", best, results[-1], ""))

    def add_result(what: str, setting: str, reranker: RerankFunction | None) -> None:
        before = results[-1]
        after = trials.run_setting(setting, vector_indexes, reranker, accuracy=True)
        cost = f"{after.milliseconds - before.milliseconds:.0f} ms per search"
        comparisons.append(_compare_results(what, before, after, cost))
        results.append(after)

    add_result("Accuracy", "all, accuracy asked for", None)
    try:
        with acquire_selected_reranker(settings) as reranker:
            if reranker:
                add_result("The reranker", "all + reranker", reranker)
    except InvalidModel as error:
        remarks.append(f"The reranker was not tried: {error}.")
    return results, comparisons, remarks


def _compare_results(
    what: str, before: SettingResult, after: SettingResult, cost: str
) -> SettingComparison:
    difference = evaluation.compute_difference(before.scores, after.scores)
    return SettingComparison(what, before.setting, difference, cost)


def _estimate_embedding_cost(
    trials: EvaluationTrials, vector_index: VectorIndex, plan: IndexPlan
) -> str:
    """Estimate from a few texts how long the model takes for the whole repository."""
    texts = trials.sample_texts()
    if not texts:
        return ""
    pool, config = get_model_pool(), vector_index.config
    with pool.acquire_embedder(config.model, plan.performance) as embedder:
        started = time.perf_counter()
        embedder.embed_documents(texts, CancelToken())
        seconds = time.perf_counter() - started
    chunks = vector_index.get_status(chunks=0, files=0).chunks
    return f"{describe_duration(seconds / len(texts) * chunks)} to embed {chunks} chunks"


def run_eval(args: argparse.Namespace) -> int:
    """Print the report; FAILED if the repository cannot be evaluated."""
    user_data = open_user_data(args.user_data, os.environ)
    progress = StatusLine(sys.stderr)
    try:
        report = evaluate_repository(user_data, args.repo, args.commits, progress)
    except KernelError as error:
        progress.clear()
        sys.stderr.write(f"PROBLEM: {escape_line(str(error))}\n")
        return ExitCode.FAILED
    progress.clear()
    write_lines([report.to_json()] if args.json else map(escape_line, report.format_lines()))
    return ExitCode.OK


def evaluate_repository(
    user_data: UserData, folder: str | None, max_commits: int, progress: StatusLine
) -> EvaluationReport:
    """Evaluate at most ``max_commits``; raises KernelError where there are none."""
    root = find_project_root(folder)
    # Before the index is built, which would be in vain without a history.
    _mine_questions(root, lambda path: (root / path).is_file(), max_commits=1)
    settings, warnings = load_settings_file(user_data.settings_file)
    # No vectors are deleted because of fallback settings.
    plan = build_index_plan(settings, is_certain=not warnings)
    index = RepositoryIndex(root, find_index_folder(root, user_data), get_model_pool)
    with closing(index):
        if index.store.writer is None:
            raise StorageError(
                f"another codekernel has {root} open; close it there, or give another --user-data"
            )
        index.start(plan)
        _wait_until_indexed(index, progress)
        catalog = index.store.catalog
        questions = _mine_questions(
            root, lambda path: catalog.find_file(path) is not None, max_commits
        )
        trials = EvaluationTrials(root, index, questions, progress)
        results, comparisons, remarks = run_trials(trials, plan, settings)
    return EvaluationReport(root, tuple(results), tuple(comparisons), tuple(remarks))


def _mine_questions(
    root: Path, is_indexed: Callable[[str], bool], max_commits: int
) -> list[EvalQuestion]:
    with closing(read_commits(root)) as history:
        questions = evaluation.mine_questions(history, is_indexed, max_commits)
    if not questions:
        raise HistoryUnavailable(
            f"no commit of {root} can be asked: all are merges, releases, the work of bots, too "
            "large, too short, or about files that are not there any more"
        )
    return questions


def _wait_until_indexed(index: RepositoryIndex, progress: StatusLine) -> None:
    while not index.is_idle:
        status = index.get_status()
        left = [config.seconds_left for config in status.configs if config.seconds_left]
        eta = f", {sum(left):.0f} s left" if left else ""
        progress.draw(f"indexing: {status.files} files, {status.chunks} chunks{eta}")
        time.sleep(POLL_INTERVAL_SECONDS)


def describe_duration(seconds: float) -> str:
    """Return in words about how long something takes."""
    minute, hour = 60, 3600
    if seconds < 1:
        return "less than a second"
    if seconds < minute:
        return f"about {seconds:.0f} seconds"
    if seconds < hour:
        return f"about {seconds / minute:.0f} minutes"
    return f"about {seconds / hour:.1f} hours"


def _format_row(measures: Sequence[RetrievalMetrics]) -> str:
    return "  ".join(
        f"{value:{len(name)}.3f}" if measures else f"{'-':>{len(name)}}"
        for name, value in zip(_TABLE_COLUMNS, average_metrics(measures), strict=True)
    )


def _round_measures(measures: Sequence[RetrievalMetrics]) -> dict[str, float] | None:
    if not measures:
        return None
    values = zip(
        ("ndcg10", "recall10", "mrr", "hit1"),
        average_metrics(measures),
        strict=True,
    )
    return {name: round(value, 4) for name, value in values}
