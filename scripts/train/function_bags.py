"""Questions as rows of the model's table: ``function_bags.py WORK START``; to WORK/bags_*.npz.

A matrix for every part of a question, how often each text has each row; a batch puts a query and a
document together from parts. ``question`` has the sentence as somebody would type it.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import numpy as np
from bags import bags, table_of
from scipy import sparse
from tokenizers import Tokenizer

PARTS = {"sentence": 64, "question": 64, "paragraph": 96, "name": 32, "rest": 400, "code": 1024}
IRREGULAR = {"does": "do", "goes": "go", "has": "have", "is": "is", "this": "this", "was": "was"}
FIND = ("get", "return", "find")


class Counter:
    """Counts the rows of a model in texts."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        table, self._rows = table_of(folder)
        self._size = len(table)

    def count(self, texts: Sequence[str], longest: int) -> sparse.csr_array:
        """How often each text has each row."""
        made = bags(texts, self._tokenizer, self._rows, longest)
        parts = (np.rint(made.times**2).astype(np.float32), made.rows, made.starts)
        return sparse.csr_array(parts, shape=(len(texts), self._size))


def ask(sentence: str) -> str:
    """A sentence of documentation as a request: "Returns the rows." is "get the rows"."""
    words = sentence.strip().rstrip(".").lower().split()
    if not words:
        return ""
    first = words[0]
    if first in IRREGULAR:
        first = IRREGULAR[first]
    elif first.endswith("ies") and len(first) > len("dies"):
        first = f"{first[:-3]}y"
    elif re.search(r"(ss|sh|ch|x|zz)es$", first):
        first = first[:-2]
    elif first.endswith("s") and not first.endswith("ss") and len(first) > len("its"):
        first = first[:-1]
    if first == "return" and len(words) > len(FIND) - 1:
        first = FIND[len(sentence) % len(FIND)]
    return " ".join([first, *words[1:]])


def main(work: Path, folder: Path) -> None:
    """Write the matrices unless they are there."""
    if (work / "bags_labels.npz").exists():
        return
    with (work / "questions.jsonl").open(encoding="utf-8") as lines:
        columns = list(zip(*map(json.loads, lines), strict=True))
    packages, languages, kinds, names, sentences, paragraphs, rests, codes = columns
    questions = [ask(sentence) for sentence in sentences]
    texts = (sentences, questions, paragraphs, names, rests, codes)
    counter = Counter(folder)
    for (part, longest), mine in zip(PARTS.items(), texts, strict=True):
        counted = counter.count(mine, longest)
        sparse.save_npz(work / f"bags_{part}.npz", counted, compressed=False)
    np.savez(
        work / "bags_labels.npz",
        package=np.array(
            [f"{one} {other}" for one, other in zip(packages, languages, strict=True)]
        ),
        is_function=np.array([kind == "function" for kind in kinds]),
        is_python=np.array([language == "python" for language in languages]),
    )


def load(work: Path) -> dict[str, sparse.csr_array]:
    """The matrix of every part."""
    return {part: sparse.load_npz(work / f"bags_{part}.npz") for part in PARTS}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
