"""Evaluate search on the commits of a repository.

Mine questions whose expected files are known, compute NDCG, recall and MRR as the retrieval
benchmark does, and bootstrap the difference between two settings. Pure functions.
"""

import math
import random
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import fmean
from typing import NamedTuple

from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.search.boosts import classify_path
from codekernel.search.git_history import Commit
from codekernel.search.word_forms import stem, stem_words

# A commit that changes more files is about many things at once.
MAX_CHANGED_FILES = 8

# Shorter messages ("fix tests") ask for nothing; in Chinese a pair of characters is a word.
MIN_QUESTION_WORDS = 3

MAX_MESSAGE_CHARS = 300

_TRAILER = re.compile(
    r"[a-z][\w-]*-(?:by|id|on|from|to|url): |(?:cc|bug|see|pr|link): ", re.IGNORECASE
)

_PREFIX = re.compile(
    r"^(?:feat|fix|docs?|style|refactor|perf|tests?|build|ci|chore|wip|deps?|types?|security"
    r"|release|misc)(?:\([^)]*\))?!?:\s*",
    re.IGNORECASE,
)

_ISSUE_REFERENCES = re.compile(
    r"[(\[]?\b(?:(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|refs?|see|issue|pr|pull request|ticket)"
    r"[:\s]+)?(?:[\w.-]+/[\w.-]+)?(?:#|gh-)\d+\b[)\]]?"
    r"|[(\[]\s*#\d+\s*[)\]]|#\d+\b|https?://\S+"
    # A number of an issue tracker; UTF-8 and SHA-256 inside a sentence are none.
    r"|(?-i:^[A-Z][A-Z0-9]+-\d+\b:?|[(\[][A-Z][A-Z0-9]+-\d+[)\]]:?)",
    re.IGNORECASE,
)

_BRACKETED = re.compile(r"^(?:\[[^\]]*\]\s*)+|:[a-z_]+:")

# In a query quotes would mean an exact string, and these words a filter.
_QUERY_SYNTAX = re.compile(r"\"|(?<!\S)-?(?:lang|path|file|symbol)(?::(?=\S))", re.IGNORECASE)

_BOT = re.compile(
    r"\[bot\]|\bbots?\b|-bot\b|dependabot|renovate|github-actions|greenkeeper", re.IGNORECASE
)

_NOT_A_QUESTION = re.compile(
    r"merge\b|revert|this reverts|back ?out\b|fixup!|squash!|initial commit\b|wip\b"
    r"|(?:[\w.-]+ )?v?\d+\.\d+[\w.-]*$"
    r"|(?:bump|release|prepare|prep|tag|cut|set|update|upgrade)\b.*"
    r"\b(?:versions?|releases?|v?\d+\.\d+[\w.]*|snapshot|changelog|dependenc\w+|deps|lockfile)\b"
    r"|(?:re-?)?format(?:ting|ted)?\b|(?:run|apply|use)\b.*\b(?:black|ruff|prettier|isort|gofmt"
    r"|rustfmt|clang-format|eslint|formatter|linter)\b|(?:fix\w*|remove|strip|trim|clean\w*)\b.*"
    r"\b(?:whitespace|white space|formatting|indentation|lint\w*|typos?|spelling)\b"
    r"|typos?\b|lint\w*\b|update (?:copyright|licen[cs]e|authors|contributors|translations)",
    re.IGNORECASE,
)

# No question asks for the lock file that an upgrade changed.
_NON_CODE_LABELS = frozenset({"documentation", "data"})


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A commit's message and the files that a search for it should find."""

    commit: str
    text: str
    paths: frozenset[str]
    # Every word of a file's name is in the message: finding it is easy.
    is_file_named: bool


def mine_questions(
    history: Iterable[Commit], is_indexed: Callable[[str], bool], limit: int
) -> list[EvalQuestion]:
    """Return the newest ``limit`` questions; of equal messages only the newest."""
    found: dict[str, EvalQuestion] = {}
    for commit in history:
        text = clean_commit_message(commit)
        if text in found or not _is_question(commit, text):
            continue
        if paths := _select_expected_paths(filter(is_indexed, commit.paths)):
            found[text] = EvalQuestion(commit.id, text, paths, _has_file_name(text, paths))
        if len(found) == limit:
            break
    return list(found.values())


def clean_commit_message(commit: Commit) -> str:
    """Return the first paragraph of a message without issue numbers, prefixes and trailers."""
    lines = commit.message.strip().split("\n\n", 1)[0].splitlines()
    text = " ".join(line.strip() for line in lines if not _TRAILER.match(line.strip()))
    for noise in (_ISSUE_REFERENCES, _BRACKETED, _PREFIX, _QUERY_SYNTAX):
        text = noise.sub(" ", text).strip()
    return " ".join(text.split()).strip(" -:,;.")[:MAX_MESSAGE_CHARS]


def _is_question(commit: Commit, text: str) -> bool:
    return (
        0 < len(commit.paths) <= MAX_CHANGED_FILES
        and not any(map(_BOT.search, (commit.author, commit.mail)))
        and not any(map(_NOT_A_QUESTION.match, (text, commit.message)))
        and len(tokenize_query(text)) >= MIN_QUESTION_WORDS
    )


def _select_expected_paths(paths: Iterable[str]) -> frozenset[str]:
    """Return the changed code; tests and examples if no other code changed; never documents."""
    kinds = {path: classify_path(path) for path in paths}
    code = [path for path, kind in kinds.items() if not kind.is_test and not kind.labels]
    other = [path for path, kind in kinds.items() if _NON_CODE_LABELS.isdisjoint(kind.labels)]
    return frozenset(code or other)


def _has_file_name(text: str, paths: Iterable[str]) -> bool:
    stems = stem_words(text)
    names = (tokenize_query(PurePosixPath(path).stem) for path in paths)
    return any(name and stems.issuperset(map(stem, _drop_joined_words(name))) for name in names)


def _drop_joined_words(name: list[str]) -> list[str]:
    """Return the words of a name without those that are several of them joined."""
    return [
        word for word in name if not any(word != other and word.startswith(other) for other in name)
    ]


METRIC_CUTOFF = 10

# The interval lies between two quantiles of the resampled means; with 2000 of them its ends move by
# less than a tenth of its width.
BOOTSTRAP_RESAMPLES = 2000

_LOW_QUANTILE, _HIGH_QUANTILE = 0.025, 0.975

_BOOTSTRAP_SEED = 5  # the same figures, the same advice


class RetrievalMetrics(NamedTuple):
    """Metrics of one question, or the means of many; all 0..1."""

    ndcg: float
    recall: float
    reciprocal_rank: float
    first: float


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """The mean of paired differences and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        """Return whether the interval includes no difference."""
        return self.low <= 0.0 <= self.high


def compute_metrics(hits: Sequence[str], expected: Collection[str]) -> RetrievalMetrics:
    """Return the metrics of the first hits' paths; a file counts where it first appears."""
    shown = list(hits[:METRIC_CUTOFF])
    ranks = [shown.index(path) + 1 for path in expected if path in shown]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(METRIC_CUTOFF, len(expected)) + 1))
    return RetrievalMetrics(
        ndcg=sum(1 / math.log2(rank + 1) for rank in ranks) / ideal if ideal else 0.0,
        recall=len(ranks) / len(expected) if expected else 0.0,
        reciprocal_rank=1 / min(ranks) if ranks else 0.0,
        first=float(1 in ranks),
    )


def average_metrics(each: Sequence[RetrievalMetrics]) -> RetrievalMetrics:
    """Return the means; zeros if there are no questions."""
    columns = zip(*each, strict=True) if each else ([0.0],) * 4
    return RetrievalMetrics(*map(fmean, columns))


def compute_difference(before: Sequence[float], after: Sequence[float]) -> MetricDifference:
    """Return the gain of ``after``, question by question, with a bootstrap interval."""
    pairs = [new - old for old, new in zip(before, after, strict=True)]
    if not pairs:
        return MetricDifference(0.0, 0.0, 0.0)
    dice = random.Random(_BOOTSTRAP_SEED)  # noqa: S311 - not for secrets
    means = sorted(fmean(dice.choices(pairs, k=len(pairs))) for _ in range(BOOTSTRAP_RESAMPLES))
    last = BOOTSTRAP_RESAMPLES - 1
    return MetricDifference(
        fmean(pairs), means[round(_LOW_QUANTILE * last)], means[round(_HIGH_QUANTILE * last)]
    )
