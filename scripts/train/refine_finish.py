"""From the refined table to the model's folder: ``refine_finish.py WORK START TABLE.npy TARGET``.

START is the model that refine.py began with; its tokenizer and rows stay. Rows that no text of
training has follow those that moved, Chinese words lie where the model now puts their English
senses, and all is turned so that the first dimensions say most, so that anybody may cut the vectors
shorter.
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
from bags import Bags, table_of
from chinese_rows import Static
from finish import COMMON, DIMENSIONS, FILES, carry_over_rows, rotate_table
from function_bags import load
from static_fetch import fetch, parse
from tokenizers import Tokenizer

NAME = "codekernel-static-v3"
ENTRY = {
    "name": NAME,
    "kind": "static",
    "dimensions": DIMENSIONS,
    "maxTokens": static_export.MAX_TOKENS,
    "licence": "Apache-2.0; Chinese words CC-BY-SA-4.0",
    "source": {"start": "codekernel-static-v2", "recipe": "scripts/train/README.md"},
}


def main(work: Path, start: Path, trained: Path, target: Path) -> None:
    """Write the folder and its checksums."""
    before, rows = table_of(start)
    tokenizer = Tokenizer.from_file(str(start / "tokenizer.json"))
    after = carry_over_rows(before, np.load(trained).astype(np.float32))
    table = realign_chinese(Static(tokenizer, rows, after), work)
    code = load(work)["code"]
    texts = Bags(code.indices, np.sqrt(code.data), code.indptr)
    table = rotate_table(table, texts)
    static_export.write(target, table, rows, tokenizer)
    static_reference.write_canonical(target)
    if target.resolve().parent == manifest.MODELS:
        manifest.record(ENTRY, target, FILES)
    print(f"{len(table):,} rows, {len(rows):,} tokens")


def realign_chinese(model: Static, work: Path) -> np.ndarray:
    """The table with the rows of Chinese words where their English senses now lie."""
    cedict, jieba = (fetch(package, work) for package in parse(static_packages.CHINESE))
    known = model.tokenizer.get_vocab()
    rows = {word: model.rows[number] for word, number in known.items() if word.isascii()}
    common = {word for word, row in rows.items() if 0 < row <= COMMON}
    words = chinese.words(cedict, chinese.counts(jieba), common)
    words = [word for word in words if word.senses and word.form in known]
    found, lengths = chinese_rows.place_words(model, words)
    table = model.table.copy()
    for word, vector, length in zip(words, found, lengths, strict=True):
        if length > 0:
            table[model.rows[known[word.form]]] = vector
    return table


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:5]))
