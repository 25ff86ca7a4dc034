"""``codekernel eval``: measure how well search finds the files that commits changed.

Mine questions from the repository's history, run them under several settings and compare NDCG,
recall and MRR; report the metrics per setting and what each addition gains. Writes nothing but the
index; with ``--tune`` also the weights of signals that the repository's history teaches, if they
hold on the commits set aside, and ``--untune`` deletes those.
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

from codekernel.cli.commands.eval_tuning import (
    TuningReport,
    UntuningReport,
    tune_ranking,
    untune_ranking,
)
from codekernel.cli.folder_session import READ_ONLY_STATE, FolderSession, Status
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.output.terminal import StatusLine, write_lines
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_index_folder, find_project_root
from codekernel.domain.untrusted_text import decode_path, escape_line
from codekernel.errors import KernelError, StorageError
from codekernel.search import evaluation
from codekernel.search.evaluation import (
    EvalQuestion,
    MetricDifference,
    RetrievalMetrics,
    average_metrics,
)
from codekernel.search.git_history import HistoryUnavailable, read_commits
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.index_store import CATALOG_FILE
from codekernel.storage.user_data import UserData, open_user_data

LEXICAL_ONLY = "words alone"

# Below this an interval is so wide that hardly any difference could show.
MIN_QUESTIONS = 30

DEFAULT_COMMITS = 200

# What is learned from fewer seldom holds on those set aside.
DEFAULT_TUNING_COMMITS = 500

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
    """The questions, and the session whose index answers them."""

    session: FolderSession
    questions: Sequence[EvalQuestion]
    progress: StatusLine

    def run_setting(self, setting: str, **fields: object) -> SettingResult:
        """Search for every question under one setting; ``fields`` are those of ``search``."""
        measures, milliseconds = [], []
        for number, question in enumerate(self.questions, 1):
            self.progress.draw(escape_line(f"{setting}: {number} of {len(self.questions)}"))
            started = time.perf_counter()
            found = self.session.request(
                "search", query=question.text, limit=evaluation.METRIC_CUTOFF, **fields
            )
            milliseconds.append((time.perf_counter() - started) * 1e3)
            paths = [decode_path(result["filePath"]) for result in found["results"]]
            measures.append(evaluation.compute_metrics(paths, question.paths))
        unnamed = [
            measured
            for measured, question in zip(measures, self.questions, strict=True)
            if not question.is_file_named
        ]
        median = sorted(milliseconds)[len(milliseconds) // 2]
        return SettingResult(setting, tuple(measures), tuple(unnamed), median)

    def estimate_embedding_cost(self, config: str, chunks: int) -> str:
        """Estimate from a few chunks how long the model takes for the whole repository."""
        measured = self.session.request("measureEmbedding", config=config)["secondsPerChunk"]
        return f"{describe_duration(measured * chunks)} to embed {chunks} chunks"


def run_trials(
    trials: EvaluationTrials, status: Status
) -> tuple[list[SettingResult], list[SettingComparison], list[str]]:
    """Run every setting; return the results, their comparisons, and what could not be tried."""
    tried = [config for config in status["configs"] if not config["trouble"]]
    remarks = [
        f"{config['name']} was not tried: its model cannot be used (codekernel models says why)."
        for config in status["configs"]
        if config["trouble"]
    ]
    lexical = trials.run_setting(LEXICAL_ONLY, configs=[])
    results, comparisons = [lexical], []
    for config in tried:
        name = config["name"]
        result = trials.run_setting(f"words + {name}", configs=[name])
        results.append(result)
        cost = trials.estimate_embedding_cost(name, config["chunks"])
        comparisons.append(_compare_results(name, lexical, result, cost))
    if len(tried) > 1:
        best = max(results[1:], key=lambda result: sum(result.scores))
        results.append(trials.run_setting("words + all of these"))
        comparisons.append(_compare_results("All together", best, results[-1], ""))

    is_selected, trouble = trials.session.find_reranker()
    if trouble:
        remarks.append(f"The reranker was not tried: {trouble}.")
    elif is_selected:
        before, after = results[-1], trials.run_setting("all + reranker", accuracy=True)
        cost = f"{after.milliseconds - before.milliseconds:.0f} ms per search"
        comparisons.append(_compare_results("The reranker", before, after, cost))
        results.append(after)
    return results, comparisons, remarks


def _compare_results(
    what: str, before: SettingResult, after: SettingResult, cost: str
) -> SettingComparison:
    difference = evaluation.compute_difference(before.scores, after.scores)
    return SettingComparison(what, before.setting, difference, cost)


_Report = EvaluationReport | TuningReport | UntuningReport


def run_eval(args: argparse.Namespace) -> int:
    """Print the report; FAILED if the repository cannot be evaluated."""
    user_data = open_user_data(args.user_data, os.environ)
    progress = StatusLine(sys.stderr)
    try:
        if args.untune:
            report: _Report = forget_tuning(args, user_data)
        else:
            report = evaluate_repository(args, user_data, progress)
    except KernelError as error:
        progress.clear()
        sys.stderr.write(f"PROBLEM: {escape_line(str(error))}\n")
        return ExitCode.FAILED
    progress.clear()
    write_lines([report.to_json()] if args.json else map(escape_line, report.format_lines()))
    return ExitCode.OK


def evaluate_repository(
    args: argparse.Namespace, user_data: UserData, progress: StatusLine
) -> EvaluationReport | TuningReport:
    """Evaluate at most ``args.commits``, or learn from them.

    Raises KernelError where there are none.
    """
    root = find_project_root(args.repo)
    max_commits = args.commits or (DEFAULT_TUNING_COMMITS if args.tune else DEFAULT_COMMITS)
    # Before the index is built, which would be in vain without a history.
    _mine_questions(root, lambda path: (root / path).is_file(), max_commits=1)
    with open_kernel(args, user_data, "eval") as kernel:
        session = FolderSession(kernel)
        repo_name = kernel.wait_for_reply(session.open(root))["repoName"]
        status = session.wait_for_index(until_complete=True)
        if status["state"] == READ_ONLY_STATE:
            raise StorageError(
                f"another codekernel has {root} open; close it there, or give another --user-data"
            )
        index = find_index_folder(kernel, repo_name, user_data)
        with closing(Catalog(index / CATALOG_FILE)) as catalog:
            questions = _mine_questions(
                root, lambda path: catalog.find_file(path) is not None, max_commits
            )
        if args.tune:
            progress.draw(f"learning from {len(questions)} commits, which takes a minute or two")
            return tune_ranking(root, session, questions)
        trials = EvaluationTrials(session, questions, progress)
        results, comparisons, remarks = run_trials(trials, status)
    return EvaluationReport(root, tuple(results), tuple(comparisons), tuple(remarks))


def forget_tuning(args: argparse.Namespace, user_data: UserData) -> UntuningReport:
    """Delete the learned weights of a repository. Raises KernelError."""
    root = find_project_root(args.repo)
    with open_kernel(args, user_data, "eval") as kernel:
        session = FolderSession(kernel)
        kernel.wait_for_reply(session.open(root))
        return untune_ranking(root, session)


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
