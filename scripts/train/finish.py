"""From the trained table to the model's folder: ``finish.py WORK START TABLE.npy TARGET``.

START is the model that training began with (scripts/models/static_build.py). Rows that no text of
training has follow those that moved; the start's table and the trained one stand side by side, for
each finds what the other does not; Chinese words get rows; and all is turned so that the first
dimensions say most, of which 256 stay. So anybody may cut the vectors shorter.
"""

import sys
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import chinese
import chinese_rows
import manifest
import numpy as np
import static_export
import static_packages
import static_reference
from bags import Bags, load, table_of
from chinese_rows import Static
from static_fetch import fetch, parse
from tokenizers import Tokenizer

NAME = "codekernel-static-v2"
COMMON = 9_000  # rows, which are in order of frequency
TURNED_BY = 50_000  # texts
DIMENSIONS = 256
RIDGE = 1.0
FILES = ("canonical_vectors.json", "codekernel.json", "config.json", "model.onnx", "tokenizer.json")
ENTRY = {
    "name": NAME,
    "kind": "static",
    "dimensions": DIMENSIONS,
    "maxTokens": 2048,
    "licence": "Apache-2.0; Chinese words CC-BY-SA-4.0",
    "source": {"teacher": "granite-embedding-30m-english", "recipe": "scripts/train/README.md"},
}


def main(work: Path, start: Path, trained: Path, target: Path) -> None:
    """Write the folder and its checksums."""
    before, rows = table_of(start)
    tokenizer = Tokenizer.from_file(str(start / "tokenizer.json"))
    after = carry_over_rows(before, np.load(trained).astype(np.float32))
    both = np.concatenate([scale_rows(before), after], axis=1)
    model = Static(tokenizer, rows, both)
    cedict, jieba = (fetch(package, work) for package in parse(static_packages.CHINESE))
    counts = chinese.counts(jieba)
    known = tokenizer.get_vocab().items()
    common = {word for word, number in known if 0 < rows[number] <= COMMON and word.isascii()}
    model = chinese_rows.with_words(model, chinese.words(cedict, counts, common), counts)
    _, _, codes = load(work)
    table = rotate_table(model.table, codes)
    static_export.write(target, table, model.rows, model.tokenizer)
    static_reference.write_canonical(target)
    if target.resolve().parent == manifest.MODELS:
        manifest.record(ENTRY, target, FILES)
    print(f"{len(table):,} rows, {len(model.rows):,} tokens")


def carry_over_rows(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Rows that training left where they were, moved as the others moved on the whole."""
    begun = scale_rows(before)
    moved = np.abs(after - begun).max(axis=1) > 1e-6  # noqa: PLR2004 - more than rounding
    here, there = begun[moved], after[moved]
    square = here.T @ here + RIDGE * np.eye(here.shape[1], dtype=np.float32)
    way = np.linalg.solve(square, here.T @ there + RIDGE * np.eye(here.shape[1]))
    return np.where(moved[:, None], after, begun @ way).astype(np.float32)


def scale_rows(table: np.ndarray) -> np.ndarray:
    """The table with rows of about length one; row 0 is nothing."""
    return table / np.linalg.norm(table, axis=1)[1:].mean()


def rotate_table(table: np.ndarray, codes: Bags) -> np.ndarray:
    """The table in the directions in which code differs most, those first."""
    texts = np.random.default_rng(1).permutation(len(codes.starts) - 1)[:TURNED_BY]
    rows, times, starts = codes.of(np.sort(texts))
    sums = np.add.reduceat(table[rows] * times[:, None], starts[starts < len(rows)])
    unit = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    _, directions = np.linalg.eigh(unit.T @ unit)
    ordered = directions[:, ::-1]
    largest = np.abs(ordered).argmax(axis=0)  # a sign that does not depend on the machine
    signs = np.sign(ordered[largest, np.arange(ordered.shape[1])])
    return (table @ (ordered * signs)[:, :DIMENSIONS]).astype(np.float32)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:5]))
