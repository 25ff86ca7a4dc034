"""Refine a static model's table with questions and teachers: ``refine.py WORK START OUT.npy ...``.

A query is to be nearer to its own function than to the others of its batch, half of which are of
few packages; and texts are to be as near to each other as a teacher has them (``--teachers``).
Only rows that a batch has are moved: a step takes a twentieth of a second of one core.
``--mean A.npy B.npy`` writes the mean of tables instead, begun from one start.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import beside  # noqa: F401 - makes the next ones importable
import function_bags
import numpy as np
import teacher_views
import torch
from bags import table_of
from finish import scale_rows
from function_bags import Counter
from scipy import sparse
from torch.nn import functional

# What people add to a request: of Python, then of any language. The empty ones are likelier.
FORMS = (
    *("", "", "", "python", "python", "how to", "how to in python", "python how to", "in python"),
    *("function to", "python function to", "how do i in python", "python code", "using python"),
    *("way to in python", "python get", "python check if"),
)
PLAIN = (0, FORMS.index("how to"))
STOP = "the a an of for to in from with and or is are be this that it its by on as at given"
KINDS = (0.2, 0.45, 0.1, 0.25)  # of queries: sentence, question, paragraph, name
STOP_DROP, WORD_DROP = 0.6, 0.2
WITH_REST, WITH_SENTENCE, NAME_WITH_SENTENCE, NAME_HIDDEN = 0.6, 0.3, 0.7, 0.15
PACKAGES = 16  # that half of a batch is from
TEMPERATURE = 0.05
WARM_UP = 50  # steps
DECAYS = (0.9, 0.98)

Matrix: TypeAlias = sparse.csr_array


class Batches:
    """Random batches of queries and documents, put together from the parts of questions."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.dice = np.random.default_rng(options.seed)
        self._size, self._functions = options.batch, options.functions
        self._drop = options.drop
        self._parts = function_bags.load(options.work)
        with np.load(options.work / "bags_labels.npz") as labels:
            package = np.unique(labels["package"], return_inverse=True)[1]
            is_function, self._is_python = labels["is_function"], labels["is_python"]
        places = np.flatnonzero(is_function), np.flatnonzero(~is_function)
        self._groups = [_group(mine, package[mine]) for mine in places]
        counter = Counter(options.start)
        self._forms = counter.count(FORMS, 8)
        self._stop = np.unique(counter.count([STOP], 64).indices)

    def draw(self) -> tuple[Matrix, Matrix]:
        """Queries and their documents."""
        asks_function = self.dice.random() < self._functions
        chosen = self._choose(*self._groups[0 if asks_function else 1])
        parts = {name: matrix[chosen] for name, matrix in self._parts.items()}
        if asks_function:
            query, document = self._ask_function(parts, self._is_python[chosen])
        else:
            query, document = self._thin(parts["sentence"], WORD_DROP / 2), parts["code"]
        return query, self._hide_shared(query, document)

    def _choose(self, order: np.ndarray, begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        likely = np.sqrt(sizes) / np.sqrt(sizes).sum()
        groups = self.dice.choice(len(sizes), min(PACKAGES, len(sizes)), replace=False, p=likely)
        each = self._size // 2 // PACKAGES
        near = [
            order[begins[one] + self.dice.choice(sizes[one], min(each, sizes[one]), replace=False)]
            for one in groups
        ]
        far = self.dice.choice(order, min(self._size, len(order)), replace=False)
        mine = np.concatenate(near)
        return np.concatenate([mine, np.setdiff1d(far, mine)])[: self._size]

    def _ask_function(
        self, parts: dict[str, Matrix], is_python: np.ndarray
    ) -> tuple[Matrix, Matrix]:
        count = len(is_python)
        kind = self.dice.choice(len(KINDS), count, p=KINDS)
        forms = [parts[name] for name in ("sentence", "question", "paragraph", "name")]
        query = sum(
            (_rows_times(form, kind == one) for one, form in enumerate(forms)), 0 * forms[0]
        )
        query = self._thin(query, STOP_DROP, self._stop)
        if self.dice.random() < 1 / 2:
            query = self._thin(query, WORD_DROP)
        form = self.dice.integers(len(FORMS), size=count)
        form = np.where(is_python, form, np.where(form < len(FORMS) // 2, *PLAIN))
        is_name = kind == len(KINDS) - 1
        luck = self.dice.random((3, count))
        with_sentence = luck[1] < np.where(is_name, NAME_WITH_SENTENCE, WITH_SENTENCE)
        document = parts["code"] + _rows_times(parts["rest"], luck[0] < WITH_REST)
        document = document + _rows_times(parts["sentence"], with_sentence)
        hidden = is_name | (luck[2] < NAME_HIDDEN)
        document = Matrix(document - _rows_times(parts["name"], hidden))
        document.data = np.maximum(document.data, 0)
        return Matrix(query + self._forms[form]), document

    def _thin(self, matrix: Matrix, share: float, only: np.ndarray | None = None) -> Matrix:
        thinned = Matrix(matrix).copy()
        gone = self.dice.random(thinned.nnz) < share
        if only is not None:
            gone &= np.isin(thinned.indices, only)
        thinned.data = np.where(gone, 0, thinned.data).astype(np.float32)
        thinned.eliminate_zeros()
        return thinned

    def _hide_shared(self, query: Matrix, document: Matrix) -> Matrix:
        shared = np.isin(_number_texts(document), _number_texts(query))
        gone = shared & (self.dice.random(document.nnz) < self._drop)
        hidden = document.copy()
        hidden.data = np.where(gone, 0, document.data).astype(np.float32)
        return hidden


class Table:
    """The table, and Adam for the rows of a batch alone."""

    def __init__(self, start: np.ndarray) -> None:
        self.values = torch.tensor(start)
        self._means, self._squares = torch.zeros_like(self.values), torch.zeros_like(self.values)
        self._steps = 0

    def take(self, *matrices: Matrix) -> Callable[[Matrix], torch.Tensor]:
        """What makes vectors of these matrices, until the next step."""
        rows = np.unique(np.concatenate([matrix.indices for matrix in matrices]))
        self._rows = torch.from_numpy(rows.astype(np.int64))
        self._taken = self.values[self._rows].clone().requires_grad_(requires_grad=True)

        def embed(matrix: Matrix) -> torch.Tensor:
            sums = functional.embedding_bag(
                torch.from_numpy(np.searchsorted(rows, matrix.indices)),
                self._taken,
                torch.from_numpy(matrix.indptr[:-1].astype(np.int64)),
                mode="sum",
                per_sample_weights=torch.from_numpy(np.sqrt(matrix.data)),
            )
            return functional.normalize(sums, dim=1)

        return embed

    def step(self, loss: torch.Tensor, rate: float) -> None:
        """Move the rows that were taken."""
        loss.backward()
        slope, rows = self._taken.grad, self._rows
        self._steps += 1
        self._means[rows] = torch.lerp(slope, self._means[rows], DECAYS[0])
        self._squares[rows] = torch.lerp(slope**2, self._squares[rows], DECAYS[1])
        mean = self._means[rows] / (1 - DECAYS[0] ** self._steps)
        square = self._squares[rows] / (1 - DECAYS[1] ** self._steps)
        self.values[rows] = self._taken.detach() - rate * mean / (square.sqrt() + 1e-8)


def main() -> None:
    """Train, print the loss, keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("start", type=Path, help="the folder of the model to begin with")
    parser.add_argument("out", type=Path)
    parser.add_argument("--mean", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--drop", type=float, default=0.3, help="of the words both sides share")
    parser.add_argument("--functions", type=float, default=0.65, help="share of the batches")
    parser.add_argument("--teachers", nargs="*", default=[])
    parser.add_argument("--teach", type=float, default=1.0, help="what the teachers' loss weighs")
    parser.add_argument("--taught", type=int, default=512, help="texts of a step")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.mean:
        np.save(options.out, np.mean([np.load(one) for one in options.mean], axis=0))
        return
    torch.set_num_threads(1)
    np.save(options.out, train(options))


def train(options: argparse.Namespace) -> np.ndarray:
    """The table after all steps."""
    batches = Batches(options)
    table = Table(scale_rows(table_of(options.start)[0]))
    teachers = [teacher_views.load(options.work, name) for name in options.teachers]
    losses = []
    for step in range(options.steps):
        query, document = batches.draw()
        lesson = teachers[step % len(teachers)] if teachers else None
        if lesson:
            size = min(options.taught, len(lesson[1]))
            some = np.sort(batches.dice.choice(len(lesson[1]), size, replace=False))
            texts, views = lesson[0][some], torch.from_numpy(lesson[1][some].astype(np.float32))
        embed = table.take(query, document, *([texts] if lesson else []))
        logits = embed(query) @ embed(document).T / TEMPERATURE
        own = torch.arange(len(logits))
        both = [functional.cross_entropy(side, own) for side in (logits, logits.T)]
        loss = (both[0] + both[1]) / len(both)
        losses.append(loss.item())
        if lesson:
            loss = loss + options.teach * _disagreement(embed(texts), views)
        rate = options.rate * min((step + 1) / WARM_UP, 1) * (1 - 0.95 * step / options.steps)
        table.step(loss, rate)
        if (step + 1) % 100 == 0:
            print(f"{step + 1} {np.mean(losses[-100:]):.4f}", flush=True)
    values: np.ndarray = table.values.numpy()
    return values


def _disagreement(vectors: torch.Tensor, views: torch.Tensor) -> torch.Tensor:
    """How far the likenesses of texts are from the teacher's."""
    itself = torch.eye(len(views), dtype=torch.bool)
    mine, theirs = (
        (one @ one.T / TEMPERATURE).masked_fill(itself, -1e4) for one in (vectors, views)
    )
    return functional.kl_div(
        functional.log_softmax(mine, 1), functional.softmax(theirs, 1), reduction="batchmean"
    )


def _group(places: np.ndarray, package: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.argsort(package, kind="stable")
    _, begins, sizes = np.unique(package[order], return_index=True, return_counts=True)
    enough = sizes >= PACKAGES
    return places[order], begins[enough], sizes[enough]


def _rows_times(matrix: Matrix, chosen: np.ndarray) -> Matrix:
    return Matrix(sparse.diags_array(chosen.astype(np.float32)) @ matrix)


def _number_texts(matrix: Matrix) -> np.ndarray:
    texts = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    numbers: np.ndarray = texts * 1_000_000 + matrix.indices
    return numbers


if __name__ == "__main__":
    main()
