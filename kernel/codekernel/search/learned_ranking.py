"""Raise files by what gradient-boosted trees learned of the signals of their chunks.

The trees are plain numbers (learned_ranking.json), made by scripts/train/learned_ranking.py; what
they add to the logarithm of a score counts for each chunk of the file. docs/search.md has what that
is worth.
"""

import json
import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import repeat
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

# Of an inner node: its feature, its threshold, and the leaves on its left as bits.
_InnerNode = tuple[int, float, int]

# The leaves of a tree, from left to right, are the bits of a byte.
_MAX_LEAVES = 8
_FIRST_BITS = [(bits & -bits).bit_length() - 1 for bits in range(1 << _MAX_LEAVES)]


class FileSignals(NamedTuple):
    """A file, in the order so far, and the values of its features."""

    path: str
    values: tuple[float, ...]


class Forest:
    """Trees as arrays, so that all of them are read at once.

    Each inner node whose feature is more than its threshold rules out the leaves on its left. Of
    those that are left of a tree the first one is that of the values.
    """

    def __init__(self, trees: Sequence[Tree]) -> None:
        import numpy as np  # noqa: PLC0415 - a terminal parses queries without it

        nodes = [node for tree in trees for node in _list_inner_nodes(tree)]
        self._features = np.array([feature for feature, _, _ in nodes])
        self._thresholds = np.array([threshold for _, threshold, _ in nodes])
        self._ruled_out = np.array([leaves for _, _, leaves in nodes], np.uint8)
        self._begins = np.cumsum([0, *(len(_list_inner_nodes(tree)) for tree in trees[:-1])])
        self._first_bits = np.array(_FIRST_BITS)
        self._trees = np.arange(len(trees))
        self._leaves = np.zeros((len(trees), _MAX_LEAVES))
        for row, tree in zip(self._leaves, trees, strict=True):
            values = _list_leaves(tree)
            row[: len(values)] = values
        self._or_reduce = np.bitwise_or.reduceat
        self._to_rows = np.array

    def rate(self, files: Sequence[Sequence[float]]) -> list[float]:
        """Return what the trees say of the values of each file together."""
        rows = self._to_rows(files)
        ruled_out = (rows[:, self._features] > self._thresholds) * self._ruled_out
        remaining = ~self._or_reduce(ruled_out, self._begins, axis=1)
        values = self._leaves[self._trees, self._first_bits[remaining]]
        return list(map(sum, values.tolist()))  # one after the other: numpy adds in pairs


def _list_inner_nodes(
    tree: Tree, row: int = 0, first_leaf: int = 0
) -> list[tuple[int, float, int]]:
    """Return feature, threshold and the leaves on the left of each inner node, as bits."""
    feature, threshold, left, right = tree[row]
    if feature < 0:
        return []
    middle = first_leaf + len(_list_leaves(tree, left))
    leaves = (1 << middle) - (1 << first_leaf)
    return [
        (feature, threshold, leaves),
        *_list_inner_nodes(tree, left, first_leaf),
        *_list_inner_nodes(tree, right, middle),
    ]


def _list_leaves(tree: Tree, row: int = 0) -> list[float]:
    """Return the values of the leaves below a row, from left to right."""
    feature, value, left, right = tree[row]
    if feature < 0:
        return [value]
    return [*_list_leaves(tree, left), *_list_leaves(tree, right)]


@cache
def load_forest() -> Forest:
    """Return the trees of the package."""
    content = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    if tuple(content["features"]) != FEATURES:
        raise ValueError("learned_ranking.json was made for other features")
    return Forest(content["trees"])


def rank_by_trees(
    query: Query, candidates: Candidates, ranked: Sequence[RankedChunk]
) -> list[RankedChunk]:
    """Return the order with what the trees add to the first files."""
    files = list(list_file_signals(query, candidates, ranked, MAX_LEARNED_FILES))
    if len(files) <= 1:
        return list(ranked)
    evidence = load_forest().rate([each.values for each in files])
    least = min(evidence)
    factors = {
        each.path: math.exp(LEARNED_WEIGHT * (value - least)) - 1
        for each, value in zip(files, evidence, strict=True)
    }
    raised: list[RankedChunk] = []
    for each in ranked:
        chunk, score, signals = each
        gain = score * factors.get(chunk.path, 0.0)
        raised.append(
            RankedChunk(chunk, score + gain, {**signals, LEARNED: gain}) if gain else each
        )
    raised.sort(key=_get_score, reverse=True)
    return raised


def list_file_signals(
    query: Query, candidates: Candidates, ranked: Sequence[RankedChunk], count: int
) -> Iterator[FileSignals]:
    """Yield the features of the first files."""
    files: dict[str, list[RankedChunk]] = {}
    for each in ranked:
        path = each[0].path
        if path in files:
            files[path].append(each)
        elif len(files) < count:
            files[path] = [each]
    unit = max([it[LEXICAL] + it[SEMANTIC] for _, _, it in ranked], default=0.0) or 1.0
    top = max((own[0].score for own in files.values()), default=0.0) or 1.0
    lexical = candidates.lexical_scores
    lexical_unit = max(lexical.values(), default=0.0) or 1.0
    cosines = candidates.cosines[0] if candidates.cosines else {}
    nearest = max(cosines.values(), default=0.0)
    stem_count = max(1, len(query.stems))
    for rank, (path, own) in enumerate(files.items(), 1):
        (chunk, score, signals), kind = own[0], classify_path(path)
        ids = [each[0].id for each in own]
        scores = [score / lexical_unit for score in map(lexical.get, ids, repeat(0.0))]
        scores.sort(reverse=True)
        near = sorted(map(cosines.get, ids, repeat(0.0)), reverse=True)
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
            max([it.get(NAME_PARTS, 0.0) for _, _, it in own]) / unit,
            in_name / max(1, len(kind.name_stems)),
            coverage,
            len(kind.folder_stems & query.stems) / stem_count,
            float(kind.is_test),
            kind.factor,
            float(kind.is_code),
            signals.get(EXACT, 0.0) / unit,
            math.log1p(max([each[0].end_line for each in own])),
        )
        yield FileSignals(path, values)
