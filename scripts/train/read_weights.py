"""What the cosines of ``accuracy`` gain by their weight: ``read_weights.py READ [READ ...]``.

READ is what ``learned_signals.py --read`` wrote. Against the order with learned trees, by kind of
question, with the cosine of the best chunk of each of the first ten files.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from codekernel.search.learned_ranking import (
    LEARNED_WEIGHT,
    MAX_LEARNED_FILES,
    load_forest,
)
from codekernel.search.query_parser import QueryKind
from codekernel.search.ranking import MIN_RERANKED_FILES, PROSE_KINDS
from learned_ranking import compute_ndcg

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from quality_yardsticks import compute_interval

WEIGHTS = (0.5, 1.0, 2.0, 3.0, 4.0)

Row = dict[str, Any]


def main(files: Sequence[Path]) -> None:
    """Print a row for each kind and weight; names, paths and errors are neither."""
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    print("| questions | weight | default | difference |\n|---|---|---|---|")
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        before = [compute_ndcg(row, weigh(row, 0.0)) for row in own]
        for weight in WEIGHTS:
            gaps: dict[str, list[float]] = defaultdict(list)
            for row, value in zip(own, before, strict=True):
                gaps[row["group"]].append(compute_ndcg(row, weigh(row, weight)) - value)
            mean, low, high = compute_interval(list(gaps.values()))
            first = np.mean(before)
            print(f"| {kind} | {weight} | {first:.4f} | {mean:+.4f} ({low:+.4f} to {high:+.4f}) |")


def weigh(row: Row, weight: float) -> list[float]:
    """Return what trees and cosines add to the logarithm of each file's score."""
    added = np.zeros(len(row["features"]))
    if QueryKind[row["query_kind"]] in PROSE_KINDS:
        first = row["features"][:MAX_LEARNED_FILES]
        said = np.array(load_forest().rate(first))
        cosines = np.array([read[0] for read in row["read"][:MIN_RERANKED_FILES]])
        added[: len(said)] += LEARNED_WEIGHT * (said - said.min())
        added[: len(cosines)] += weight * (cosines - cosines.min())
    return added.tolist()


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
