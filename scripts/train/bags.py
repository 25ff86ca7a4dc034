"""Pairs as rows of the model's table: ``bags.py WORK FOLDER``; pairs.jsonl to bags.npz."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from tokenizers import Tokenizer

GROUP = 20_000  # texts tokenised at once
MAX_QUERY, MAX_CODE = 64, 1024  # tokens
SIDES = ("query", "code")


@dataclass(frozen=True)
class Bags:
    """Texts as rows and the square roots of how often each occurs, one text after the other."""

    rows: np.ndarray
    times: np.ndarray
    starts: np.ndarray  # one more than there are texts

    def of(self, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, times and starts of some of the texts."""
        lengths = self.starts[texts + 1] - self.starts[texts]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.starts[texts] - begins[:-1], lengths) + np.arange(begins[-1])
        return self.rows[places].astype(np.int64), self.times[places], begins[:-1]


def table_of(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """A static model's table in float32, and the row of each of its tokens."""
    graph = onnx.load(folder / "model.onnx").graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    return stored["values"].astype(np.float32) * stored["scales"][:, None], stored["rows"]


def bags(texts: Sequence[str], tokenizer: Tokenizer, rows: np.ndarray, longest: int) -> Bags:
    """The rows of each text; row 0 is nothing and left out."""
    found, times, lengths = [], [], [0]
    for start in range(0, len(texts), GROUP):
        group = list(texts[start : start + GROUP])
        for encoded in tokenizer.encode_batch_fast(group, add_special_tokens=False):
            mine = rows[np.array(encoded.ids[:longest], np.int64)]
            row, count = np.unique(mine[mine > 0], return_counts=True)
            found.append(row.astype(np.int32))
            times.append(np.sqrt(count).astype(np.float32))
            lengths.append(len(row))
    return Bags(np.concatenate(found), np.concatenate(times), np.cumsum(lengths))


def main(work: Path, folder: Path) -> None:
    """Write the bags unless they are there."""
    target = work / "bags.npz"
    if target.exists():
        return
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    _, rows = table_of(folder)
    with (work / "pairs.jsonl").open() as lines:
        packages, languages, kinds, *texts = zip(*map(json.loads, lines), strict=True)
    kept: dict[str, Any] = {
        "package": np.array(packages), "language": np.array(languages), "kind": np.array(kinds)
    }  # fmt: skip
    for side, mine, longest in zip(SIDES, texts, (MAX_QUERY, MAX_CODE), strict=True):
        made = bags(mine, tokenizer, rows, longest)
        kept |= {f"{side}_{name}": value for name, value in vars(made).items()}
    np.savez(target, **kept)


def load(work: Path) -> tuple[dict[str, np.ndarray], Bags, Bags]:
    """Package, language and kind of each pair; its queries; its codes."""
    with np.load(work / "bags.npz") as stored:
        labels = {name: stored[name] for name in ("package", "language", "kind")}
        sides = [
            Bags(*(stored[f"{side}_{name}"] for name in ("rows", "times", "starts")))
            for side in SIDES
        ]
    return labels, sides[0], sides[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
