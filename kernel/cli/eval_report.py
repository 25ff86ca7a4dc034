"""What an evaluation found: a table, advice in sentences, or JSON. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kernel.search.measures import Difference, Measures, mean

# Below this an interval is so wide that hardly any difference could show.
FEW_QUESTIONS = 30
_SECONDS_PER_MINUTE = 60
_MINUTES_PER_HOUR = 60
_COLUMNS = ("NDCG@10", "recall@10", "  MRR", "hit@1")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one setting did, question by question."""

    setting: str
    each: tuple[Measures, ...]
    # The part of them whose message does not name a file it changed.
    unnamed: tuple[Measures, ...]
    milliseconds: float

    @property
    def scores(self) -> list[float]:
        """What differences are taken of."""
        return [one.ndcg for one in self.each]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What something adds to a setting, and what it costs."""

    what: str
    against: str
    difference: Difference
    cost: str = ""

    @property
    def advice(self) -> str:
        """One sentence; honest where the figures say nothing."""
        found, cost = self.difference, f"; it costs {self.cost}" if self.cost else ""
        interval = f"{found.low:+.3f} to {found.high:+.3f}"
        if found.is_noise:
            return (
                f"{self.what}: {found.mean:+.3f} against {self.against} is within noise "
                f"({interval}), so it is not shown to help or to harm on your code{cost}."
            )
        if found.mean > 0:
            return (
                f"{self.what} gains {found.mean:.3f} ({interval}) over {self.against} "
                f"on your code{cost}."
            )
        return f"{self.what} loses {-found.mean:.3f} ({interval}) to {self.against}: leave it off."


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was found."""

    repository: Path
    outcomes: tuple[Outcome, ...]
    comparisons: tuple[Comparison, ...]
    remarks: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """For people."""
        first = self.outcomes[0]
        yield f"{self.repository}: does a search for a commit's message find the files it changed?"
        yield f"commits asked: {len(first.each)}; their message names no file: {len(first.unnamed)}"
        yield ""
        width = max(len(outcome.setting) for outcome in self.outcomes)
        group = sum(map(len, _COLUMNS)) + 2 * (len(_COLUMNS) - 1)
        yield f"{'':{width}}  {'all':{group}}  file not named"
        head = "  ".join(_COLUMNS)
        yield f"{'setting':{width}}  {head}  {head}  ms/query"
        for outcome in self.outcomes:
            both = f"{_row(outcome.each)}  {_row(outcome.unnamed)}"
            yield f"{outcome.setting:{width}}  {both}  {outcome.milliseconds:8.1f}"
        yield ""
        yield from (comparison.advice for comparison in self.comparisons)
        if len(first.each) < FEW_QUESTIONS:
            yield f"So few commits ({len(first.each)}) give no more than a hint."
        yield from self.remarks

    def json(self) -> str:
        """For programs."""
        content = {
            "repository": str(self.repository),
            "commits": len(self.outcomes[0].each),
            "commitsWithoutFileName": len(self.outcomes[0].unnamed),
            "settings": [
                {
                    "name": outcome.setting,
                    "all": _figures(outcome.each),
                    "fileNotNamed": _figures(outcome.unnamed),
                    "millisecondsPerQuery": round(outcome.milliseconds, 3),
                }
                for outcome in self.outcomes
            ],
            "comparisons": [
                {
                    "what": each.what,
                    "against": each.against,
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


def duration(seconds: float) -> str:
    """About how long something takes, in words."""
    if seconds < 1:
        return "less than a second"
    if seconds < _SECONDS_PER_MINUTE:
        return f"about {seconds:.0f} seconds"
    minutes = seconds / _SECONDS_PER_MINUTE
    if minutes < _MINUTES_PER_HOUR:
        return f"about {minutes:.0f} minutes"
    return f"about {minutes / _MINUTES_PER_HOUR:.1f} hours"


def _row(each: Sequence[Measures]) -> str:
    found = mean(each)
    values = (found.ndcg, found.recall, found.reciprocal_rank, found.first)
    return "  ".join(
        f"{value:{len(name)}.3f}" if each else f"{'-':>{len(name)}}"
        for name, value in zip(_COLUMNS, values, strict=True)
    )


def _figures(each: Sequence[Measures]) -> dict[str, float] | None:
    if not each:
        return None
    found = mean(each)
    values = (found.ndcg, found.recall, found.reciprocal_rank, found.first)
    names = ("ndcg10", "recall10", "mrr", "hit1")
    return {name: round(value, 4) for name, value in zip(names, values, strict=True)}
