"""Learn and judge the trees of search/learned_ranking.py: ``learned_ranking.py SIGNALS [--out F]``.

SIGNALS is what ``learned_signals.py`` wrote. LightGBM (for training alone) fits LambdaMART to the
mined questions; the order so far is where it starts. Those of the yardsticks, if they are there,
judge what it learned; it never learns from them. First of all it prints what each weight gains on
mined repositories that its trees have not seen.
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from codekernel.search.learned_ranking import FEATURES, MAX_LEARNED_FILES

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from quality_yardsticks import compute_interval

CUTOFF = 10
ROUNDS = 40
# How sharp the order so far is: what its log scores are multiplied by.
SHARPNESS = 4.0
# How much a question counts; those of other kinds are not learned from.
KIND_WEIGHTS = {"commit": 2.0, "comment": 1.0, "heap": 1.0}
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
FOLDS = 5

PARAMETERS = {
    "objective": "lambdarank",
    "learning_rate": 0.08,
    "num_leaves": 8,
    "min_data_in_leaf": 100,
    "lambdarank_truncation_level": 12,
    "lambda_l2": 5,
    "feature_fraction": 0.7,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "verbose": -1,
    "num_threads": 1,
    "seed": 1,
}

Row = dict[str, Any]


def main() -> None:
    """Print what the yardsticks gain; write the trees."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("signals", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with options.signals.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    mined = [row for row in rows if row["kind"] in KIND_WEIGHTS]
    judged = [row for row in rows if row["kind"] not in KIND_WEIGHTS]
    print("| questions | weight | NDCG@10 | difference |\n|---|---|---|---|")
    _print_weights(mined, _predict_unseen(mined))
    trees = fit(mined)
    if options.out:
        options.out.write_text(json.dumps(export(trees)) + "\n", encoding="utf-8")
    _print_weights(judged, [predict(trees, row) for row in judged])


def predict(trees: lightgbm.Booster, row: Row) -> np.ndarray:
    """Return what the trees say of each file of a question."""
    return np.asarray(trees.predict(np.array(row["features"]))) / SHARPNESS


def _predict_unseen(rows: Sequence[Row]) -> list[np.ndarray]:
    """Return for each question what trees of other repositories say."""
    groups = sorted({row["group"] for row in rows})
    folds = {group: place % FOLDS for place, group in enumerate(groups)}
    trees = [fit([row for row in rows if folds[row["group"]] != fold]) for fold in range(FOLDS)]
    return [predict(trees[folds[row["group"]]], row) for row in rows]


def _print_weights(rows: Sequence[Row], evidence: Sequence[np.ndarray]) -> None:
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [(row, said) for row, said in zip(rows, evidence, strict=True) if row["kind"] == kind]
        for weight in WEIGHTS:
            found = _compare([row for row, _ in own], [said for _, said in own], weight)
            print(f"| {kind} | {weight} | {found} |", flush=True)


def fit(rows: Sequence[Row]) -> lightgbm.Booster:
    """Learn from the questions that have an answer, and a wrong one, among their files."""
    features, labels, sizes, weights = [], [], [], []
    for row in rows:
        count = len(row["features"])
        if 0 < len(row["answers"]) < count:
            features += row["features"]
            labels += [int(place in row["answers"]) for place in range(count)]
            weights += [KIND_WEIGHTS[row["kind"]]] * count
            sizes.append(count)
    table = np.array(features, np.float32)
    data = lightgbm.Dataset(
        table,
        label=labels,
        group=sizes,
        weight=weights,
        init_score=SHARPNESS * table[:, FEATURES.index("log_score")],
        feature_name=list(FEATURES),
    )
    return lightgbm.train(PARAMETERS, data, ROUNDS)


def export(trees: lightgbm.Booster) -> dict[str, object]:
    """Return the trees as rows of plain numbers, which learned_ranking.py reads."""
    found = [_export_tree(each["tree_structure"]) for each in trees.dump_model()["tree_info"]]
    return {"features": FEATURES, "trees": found}


def _export_tree(root: Row) -> list[list[float]]:
    rows: list[list[float]] = []

    def add(node: Row) -> int:
        place = len(rows)
        if "leaf_value" in node:
            rows.append([-1, round(node["leaf_value"] / SHARPNESS, 5), 0, 0])
            return place
        rows.append([])
        sides = add(node["left_child"]), add(node["right_child"])
        rows[place] = [node["split_feature"], round(node["threshold"], 5), *sides]
        return place

    add(root)
    return rows


def _compare(rows: Sequence[Row], evidence: Sequence[np.ndarray], weight: float) -> str:
    gaps: dict[str, list[float]] = defaultdict(list)
    before: dict[str, list[float]] = defaultdict(list)
    for row, values in zip(rows, evidence, strict=True):
        first = compute_ndcg(row, [0.0] * len(row["features"]))
        before[row["group"]].append(first)
        read = min(MAX_LEARNED_FILES, len(values))
        added = np.zeros(len(values))
        added[:read] = weight * (values[:read] - values[:read].min())
        gaps[row["group"]].append(compute_ndcg(row, added.tolist()) - first)
    mean, low, high = compute_interval(list(gaps.values()))
    value = float(np.mean([np.mean(each) for each in before.values()]))
    return f"{value:.4f} | {mean:+.4f} ({low:+.4f} to {high:+.4f})"


def compute_ndcg(row: Row, evidence: Sequence[float]) -> float:
    """Return NDCG@10 of the hits with what is added to the logarithm of each file's score."""
    scored = [
        (score * math.exp(evidence[place]) if place >= 0 else score, place)
        for place, score in row["hits"]
    ]
    order = [place for _, place in sorted(scored, key=lambda it: -it[0])][:CUTOFF]
    ranks = [order.index(place) + 1 for place in row["answers"] if place in order]
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(CUTOFF, row["wanted"])))
    return sum(1 / math.log2(rank + 1) for rank in ranks) / ideal


if __name__ == "__main__":
    main()
