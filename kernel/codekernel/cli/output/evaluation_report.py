"""The report of ``codekernel eval``: metrics per setting and what each addition gains."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from codekernel.search.evaluation import MetricDifference, RetrievalMetrics, average_metrics

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
        for name, value in zip(_TABLE_COLUMNS, _average(measures), strict=True)
    )


def _round_measures(measures: Sequence[RetrievalMetrics]) -> dict[str, float] | None:
    if not measures:
        return None
    names = ("ndcg10", "recall10", "mrr", "hit1")
    return {name: round(value, 4) for name, value in zip(names, _average(measures), strict=True)}


def _average(measures: Sequence[RetrievalMetrics]) -> tuple[float, float, float, float]:
    average = average_metrics(measures)
    return average.ndcg, average.recall, average.reciprocal_rank, average.first
