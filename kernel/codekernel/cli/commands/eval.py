"""``codekernel eval``: measure how well search finds the files that commits changed.

Mine questions from the repository's history, run them under several settings and compare NDCG,
recall and MRR. Writes nothing but the index.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from codekernel.cli.model_selection import acquire_selected_reranker, get_model_pool
from codekernel.cli.output.evaluation_report import (
    EvaluationReport,
    SettingComparison,
    SettingResult,
    describe_duration,
)
from codekernel.cli.output.terminal import write_lines, write_styled
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_index_folder, find_project_root
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Settings
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import InvalidModel, KernelError, StorageError
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan, build_index_plan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.indexing.vector_index import VectorIndex
from codekernel.search.evaluation import (
    METRIC_CUTOFF,
    EvalQuestion,
    compute_difference,
    compute_metrics,
    mine_questions,
)
from codekernel.search.git_history import HistoryUnavailable, read_commits
from codekernel.search.pipeline import RerankFunction, Searcher
from codekernel.settings.loading import load_settings_file
from codekernel.storage.index_store import IndexStore
from codekernel.storage.user_data import UserData, open_user_data

POLL_INTERVAL_SECONDS = 0.1

LEXICAL_ONLY = "words alone"

# Texts that a model is timed on: a few batches of the slowest one.
MAX_TIMED_TEXTS = 48


@dataclass(frozen=True, slots=True)
class EvaluatedIndex:
    """An index of which only some embedding configs are searched."""

    store: IndexStore
    vector_indexes: Sequence[VectorIndex]


@dataclass(frozen=True, slots=True)
class EvaluationTrials:
    """The questions and the index that answers them."""

    root: Path
    index: RepositoryIndex
    questions: Sequence[EvalQuestion]

    def run_setting(
        self,
        setting: str,
        vector_indexes: Sequence[VectorIndex],
        reranker: RerankFunction | None = None,
        *,
        accuracy: bool = False,
    ) -> SettingResult:
        """Search for every question under one setting."""
        searcher = Searcher(self.root, EvaluatedIndex(self.index.store, vector_indexes), reranker)
        measures, milliseconds = [], []
        for number, question in enumerate(self.questions, 1):
            _show_progress(f"{setting}: {number} of {len(self.questions)}")
            started = time.perf_counter()
            hits = searcher.search(question.text, METRIC_CUTOFF, accuracy=accuracy)
            milliseconds.append((time.perf_counter() - started) * 1e3)
            measures.append(compute_metrics([hit.chunk.path for hit in hits], question.paths))
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
        searcher = Searcher(self.root, EvaluatedIndex(self.index.store, ()))
        for question in self.questions:
            if len(found) >= MAX_TIMED_TEXTS:
                break
            hits = searcher.search(question.text, METRIC_CUTOFF)
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
    return SettingComparison(
        what, before.setting, compute_difference(before.scores, after.scores), cost
    )


def _estimate_embedding_cost(
    trials: EvaluationTrials, vector_index: VectorIndex, plan: IndexPlan
) -> str:
    """Estimate from a few texts how long the model takes for the whole repository."""
    texts = trials.sample_texts()
    if not texts:
        return ""
    seconds = _time_embedding(texts, vector_index.config, plan)
    chunks = vector_index.get_status(chunks=0, files=0).chunks
    return f"{describe_duration(seconds / len(texts) * chunks)} to embed {chunks} chunks"


def _time_embedding(texts: Sequence[str], config: ConfigPlan, plan: IndexPlan) -> float:
    with get_model_pool().acquire_embedder(config.model, plan.performance) as embedder:
        started = time.perf_counter()
        embedder.embed_documents(list(texts), CancelToken())
        return time.perf_counter() - started


def run_eval(args: argparse.Namespace) -> int:
    """Print the report; FAILED if the repository cannot be evaluated."""
    user_data = open_user_data(args.user_data, os.environ)
    try:
        report = evaluate_repository(user_data, args.repo, args.commits)
    except KernelError as error:
        _end_progress(f"PROBLEM: {error}")
        return ExitCode.FAILED
    _end_progress("")
    write_lines([report.to_json()] if args.json else map(escape_line, report.format_lines()))
    return ExitCode.OK


def _show_progress(text: str) -> None:
    """Show progress on one line of a terminal; a log file would be flooded."""
    if sys.stderr.isatty():
        write_styled(sys.stderr, f"\r\x1b[K{escape_line(text)}")
        sys.stderr.flush()


def _end_progress(text: str) -> None:
    """Clear the progress line and print a last message, if there is one."""
    if sys.stderr.isatty():
        write_styled(sys.stderr, "\r\x1b[K")
    if text:
        sys.stderr.write(f"{escape_line(text)}\n")
    sys.stderr.flush()


def evaluate_repository(
    user_data: UserData, folder: str | None, max_commits: int
) -> EvaluationReport:
    """Evaluate at most ``max_commits``; raises KernelError where there are none."""
    root = find_project_root(folder)
    # Before the index is built, which would be in vain without a history.
    _mine_questions(root, lambda path: (root / path).is_file(), max_commits=1)
    settings, plan = _load_settings(user_data)
    index = RepositoryIndex(root, find_index_folder(root, user_data), get_model_pool)
    with closing(index):
        if index.store.writer is None:
            raise StorageError(
                f"another codekernel has {root} open; close it there, or give another --user-data"
            )
        index.start(plan)
        _wait_until_indexed(index)
        catalog = index.store.catalog
        questions = _mine_questions(
            root, lambda path: catalog.find_file(path) is not None, max_commits
        )
        trials = EvaluationTrials(root, index, questions)
        results, comparisons, remarks = run_trials(trials, plan, settings)
    return EvaluationReport(root, tuple(results), tuple(comparisons), tuple(remarks))


def _mine_questions(
    root: Path, is_indexed: Callable[[str], bool], max_commits: int
) -> list[EvalQuestion]:
    with closing(read_commits(root)) as history:
        questions = mine_questions(history, is_indexed, max_commits)
    if not questions:
        raise HistoryUnavailable(
            f"no commit of {root} can be asked: all are merges, releases, the work of bots, too "
            "large, too short, or about files that are not there any more"
        )
    return questions


def _load_settings(user_data: UserData) -> tuple[Settings, IndexPlan]:
    settings, warnings = load_settings_file(user_data.settings_file)
    # No vectors are deleted because of fallback settings.
    return settings, build_index_plan(settings, is_certain=not warnings)


def _wait_until_indexed(index: RepositoryIndex) -> None:
    while not index.is_idle:
        status = index.get_status()
        left = [config.seconds_left for config in status.configs if config.seconds_left]
        eta = f", {sum(left):.0f} s left" if left else ""
        _show_progress(f"indexing: {status.files} files, {status.chunks} chunks{eta}")
        time.sleep(POLL_INTERVAL_SECONDS)
