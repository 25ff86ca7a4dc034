"""Raise files by what gradient-boosted trees learned of the signals of their chunks.

The trees are plain numbers (learned_ranking.json), made by scripts/train/learned_ranking.py; what
they add to the logarithm of a score counts for each chunk of the file. docs/search.md has what that
is worth.
"""

import json
import math
from collections.abc import Iterator, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from codekernel.domain.index import Signal
from codekernel.search.boosts import (
    DEFINITION,
    LEXICAL,
    NAME_PARTS,
    SEMANTIC,
    classify_path,
    compare_stems,
)
from codekernel.search.query_parser import Query
from codekernel.search.ranking import FILE_TOTAL, RankedChunk
from codekernel.search.retrieval import Candidates

# Read once: a member of an Enum costs a tenth of a microsecond in Python 3.11, for each chunk.
EXACT, LEARNED = Signal.EXACT, Signal.LEARNED

# Of the order so far; further files stay where they are. Twenty are no better.
MAX_LEARNED_FILES = 10

# What the trees say is multiplied by this. All of it is sure of more than it knows of questions
# that are asked in other words than the commits and comments it learned from.
LEARNED_WEIGHT = 0.3

_MIN_RELATIVE_SCORE = 1e-4

# Values of each file, in the order in which the trees number them.
FEATURES = (
    "log_score",
    "reciprocal_rank",
    "lexical_best",
    "lexical_max",
    "lexical_second",
    "lexical_sum",
    "cosine_best",
    "cosine_max_gap",
    "cosine_second_gap",
    "log_chunks",
    "file_total",
    "definition",
    "name_parts",
    "name_parts_max",
    "file_name_precision",
    "file_name_coverage",
    "folder_coverage",
    "is_test",
    "kind_factor",
    "is_code",
    "exact",
    "log_max_line",
)

_get_score = itemgetter(1)

# A tree in rows: feature, threshold, and the rows of what is at most that and of what is more; a
# leaf has feature -1 and its value as the threshold.
Tree = Sequence[tuple[int, float, int, int]]


class FileSignals(NamedTuple):
    """A file, in the order so far, and the values of its features."""

    path: str
    values: tuple[float, ...]


@cache
def load_trees() -> tuple[Tree, ...]:
    """Return the trees."""
    content = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    if tuple(content["features"]) != FEATURES:
        raise ValueError("learned_ranking.json was made for other features")
    return tuple(tuple(map(tuple, rows)) for rows in content["trees"])


def rank_by_trees(
    query: Query, candidates: Candidates, ranked: Sequence[RankedChunk]
) -> list[RankedChunk]:
    """Return the order with what the trees add to the first files."""
    trees = load_trees()
    evidence = {
        path: sum(descend(tree, values) for tree in trees)
        for path, values in list_file_signals(query, candidates, ranked, MAX_LEARNED_FILES)
    }
    if len(evidence) <= 1:
        return list(ranked)
    least = min(evidence.values())
    factors = {
        path: math.exp(LEARNED_WEIGHT * (value - least)) - 1 for path, value in evidence.items()
    }
    raised = [
        each.add(LEARNED, each.score * factors[each.chunk.path])
        if each.chunk.path in factors
        else each
        for each in ranked
    ]
    return sorted(raised, key=_get_score, reverse=True)


def list_file_signals(
    query: Query, candidates: Candidates, ranked: Sequence[RankedChunk], count: int
) -> Iterator[FileSignals]:
    """Yield the features of the first files."""
    best: dict[str, RankedChunk] = {}
    name_parts: dict[str, float] = {}
    unit = 0.0
    for each in ranked:
        path, signals = each.chunk.path, each.signals
        if path not in best and len(best) < count:
            best[path], name_parts[path] = each, 0.0
        if path in best and NAME_PARTS in signals:
            name_parts[path] = max(name_parts[path], signals[NAME_PARTS])
        unit = max(unit, signals[LEXICAL] + signals[SEMANTIC])
    unit, top = unit or 1.0, max((each.score for each in best.values()), default=0.0) or 1.0
    chunk_ids: dict[str, list[int]] = {path: [] for path in best}
    last_lines: dict[str, int] = dict.fromkeys(best, 0)
    for number, chunk in candidates.chunks.items():
        if chunk.path in chunk_ids:
            chunk_ids[chunk.path].append(number)
            last_lines[chunk.path] = max(last_lines[chunk.path], chunk.end_line)
    lexical = candidates.lexical_scores
    lexical_unit = max(lexical.values(), default=0.0) or 1.0
    cosines = candidates.cosines[0] if candidates.cosines else {}
    nearest = max(cosines.values(), default=0.0)
    stem_count = max(1, len(query.stems))
    for rank, (path, (chunk, score, signals)) in enumerate(best.items(), 1):
        kind, ids = classify_path(path), chunk_ids[path]
        scores = sorted((lexical.get(number, 0.0) / lexical_unit for number in ids), reverse=True)
        near = sorted((cosines.get(number, 0.0) for number in ids), reverse=True)
        in_name, coverage = compare_stems(query, kind.name_stems)
        values = (
            math.log(max(score / top, _MIN_RELATIVE_SCORE)),
            1 / rank,
            lexical.get(chunk.id, 0.0) / lexical_unit,
            scores[0],
            scores[1] if len(scores) > 1 else 0.0,
            sum(scores),
            cosines.get(chunk.id, 0.0),
            near[0] - nearest,
            near[1] - nearest if len(near) > 1 else -1.0,
            math.log1p(len(ids)),
            signals.get(FILE_TOTAL, 0.0) / top,
            signals.get(DEFINITION, 0.0) / unit,
            signals.get(NAME_PARTS, 0.0) / unit,
            name_parts[path] / unit,
            in_name / max(1, len(kind.name_stems)),
            coverage,
            len(kind.folder_stems & query.stems) / stem_count,
            float(kind.is_test),
            kind.factor,
            float(kind.is_code),
            signals.get(EXACT, 0.0) / unit,
            math.log1p(last_lines[path]),
        )
        yield FileSignals(path, values)


def descend(tree: Tree, values: Sequence[float]) -> float:
    """Return the value of the leaf that the values of a file lead to."""
    feature, threshold, left, right = tree[0]
    while feature >= 0:
        feature, threshold, left, right = tree[left if values[feature] <= threshold else right]
    return threshold
