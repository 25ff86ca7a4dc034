"""Contrastive refinement of a static model's table: ``contrast.py WORK FOLDER OUT.npy [options]``.

A query is to be nearer to its own code than to the other codes of its batch; a batch holds many
pairs of few packages, because a search is within one repository. ``--words`` adds the words' own
score to both sides, so that the table learns what words alone do not find; ``--drop`` hides words
that both sides share.
Needs torch; a thousand steps take some five minutes of one core. Every hundred it keeps what it has
in OUT.pt, from where the same command goes on; the losses are in OUT.tsv, for curve.py.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from bags import Bags, load, table_of
from scipy import sparse
from torch.nn import functional

SATURATION = 1.2  # of BM25
SHARES = "comment=1,names=.5,file=.35,heading=1"
BALANCE = 0.5  # a language's share is its number of pairs to this power
WARM_UP = 100  # steps


class Batches:
    """Random batches: ``groups`` packages of one language each, ``each`` pairs of every one."""

    def __init__(self, labels: dict[str, np.ndarray], options: argparse.Namespace) -> None:
        self.dice = np.random.default_rng(options.seed)
        self._groups, self._each = options.groups, options.each
        shares = dict(one.split("=") for one in options.kinds.split(","))
        kinds, kind = np.unique(labels["kind"], return_inverse=True)
        wanted = np.array([float(shares.get(str(name), 0)) for name in kinds])[kind]
        chosen = np.flatnonzero(self.dice.random(len(kind)) < wanted)
        language = np.unique(labels["language"], return_inverse=True)[1][chosen]
        package = np.unique(labels["package"], return_inverse=True)[1][chosen]
        group = package * (language.max() + 1) + language
        order = np.argsort(group, kind="stable")
        self._pairs = chosen[order]
        _, self._begins, self._sizes = np.unique(
            group[order], return_index=True, return_counts=True
        )
        enough = self._sizes >= self._each
        self._begins, self._sizes = self._begins[enough], self._sizes[enough]
        of_group = language[order][self._begins]
        total = np.bincount(of_group, weights=self._sizes)[of_group]
        likely = self._sizes * total ** (BALANCE - 1)
        self._likely = likely / likely.sum()

    def draw(self) -> np.ndarray:
        """The numbers of one batch's pairs."""
        groups = self.dice.choice(len(self._sizes), self._groups, replace=False, p=self._likely)
        places = [
            self._begins[group] + self.dice.choice(self._sizes[group], self._each, replace=False)
            for group in groups
        ]
        return self._pairs[np.concatenate(places)]


class Words:
    """The words' own score of every query for every code of a batch, 1 for the best of each."""

    def __init__(self, codes: Bags, rows: int) -> None:
        seen = np.bincount(codes.rows, minlength=rows)
        texts = len(codes.starts) - 1
        self._rarity = np.log(1 + (texts - seen + 0.5) / (seen + 0.5)).astype(np.float32)

    def score(self, query: tuple[np.ndarray, ...], code: tuple[np.ndarray, ...]) -> torch.Tensor:
        """BM25 without lengths; a batch's codes are about equally long."""
        counts = code[1] ** 2
        weights = counts * (SATURATION + 1) / (counts + SATURATION)
        asked = self._matrix(query[0], self._rarity[query[0]], query[2])
        scores = (asked @ self._matrix(code[0], weights, code[2]).T).toarray()
        return torch.from_numpy(scores / np.maximum(scores.max(axis=1, keepdims=True), 1e-6))

    def _matrix(self, rows: np.ndarray, values: np.ndarray, starts: np.ndarray) -> sparse.csr_array:
        shape = (len(starts), len(self._rarity))
        return sparse.csr_array((values, rows, np.append(starts, len(rows))), shape=shape)


def main() -> None:
    """Train, print the loss, keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("folder", type=Path, help="the model to begin with")
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--temperature", type=float, default=0.05)
    parser.add_argument("--words", type=float, default=0.0, help="9 is about the product's share")
    parser.add_argument("--drop", type=float, default=0.7, help="of the words both sides share")
    parser.add_argument("--kinds", default=SHARES)
    parser.add_argument("--groups", type=int, default=32)
    parser.add_argument("--each", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start, _ = table_of(options.folder)
    labels, queries, codes = load(options.work)
    np.save(options.out, train_table(start, Batches(labels, options), queries, codes, options))


def train_table(
    start: np.ndarray, batches: Batches, queries: Bags, codes: Bags, options: argparse.Namespace
) -> np.ndarray:
    """The table after all steps, its rows about one long."""
    scale = np.linalg.norm(start, axis=1)[1:].mean()
    table = torch.nn.Parameter(torch.tensor(start / scale))
    optimizer = torch.optim.Adam([table], lr=options.rate, betas=(0.9, 0.98))
    words, dice = Words(codes, len(start)), np.random.default_rng(options.seed)
    kept = Kept(options.out, table, optimizer, (batches.dice, dice))
    losses, began = kept.resumed(), time.monotonic()
    for step in range(len(losses), options.steps):
        rate = options.rate * min((step + 1) / WARM_UP, 1) * (1 - 0.95 * step / options.steps)
        optimizer.param_groups[0]["lr"] = rate
        pairs = batches.draw()
        query, code = queries.of(pairs), codes.of(pairs)
        if options.drop:
            code = _drop_shared_words(query, code, options.drop, dice)
        logits = _vectors(table, query) @ _vectors(table, code).T / options.temperature
        if options.words:
            logits = logits + options.words * words.score(query, code)
        own = torch.arange(len(pairs))
        both = [functional.cross_entropy(side, own) for side in (logits, logits.T)]
        loss = (both[0] + both[1]) / len(both)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % WARM_UP == 0:
            kept.keep(losses)
            seconds = time.monotonic() - began
            print(f"{step + 1} {np.mean(losses[-WARM_UP:]):.4f} {seconds:.0f} s", flush=True)
    return table.detach().numpy()


class Kept:
    """Training as it stands, on disk; an unfinished file is never left under the name."""

    def __init__(
        self,
        out: Path,
        table: torch.Tensor,
        optimizer: torch.optim.Optimizer,
        dice: tuple[np.random.Generator, ...],
    ) -> None:
        self._file, self._curve = out.with_suffix(".pt"), out.with_suffix(".tsv")
        self._table, self._optimizer, self._dice = table, optimizer, dice

    def keep(self, losses: list[float]) -> None:
        """Write table, optimiser, dice and losses."""
        part = self._file.with_suffix(".part")
        state = {
            "table": self._table.detach(),
            "optimizer": self._optimizer.state_dict(),
            "dice": [one.bit_generator.state for one in self._dice],
            "losses": losses,
        }
        torch.save(state, part)
        part.rename(self._file)
        lines = (f"{step}\t{loss:.4f}\n" for step, loss in enumerate(losses, start=1))
        self._curve.write_text("".join(lines), encoding="ascii")

    def resumed(self) -> list[float]:
        """The losses so far, everything as it was then; none if nothing was kept."""
        if not self._file.exists():
            return []
        state = torch.load(self._file, weights_only=False)
        with torch.no_grad():
            self._table.copy_(state["table"])
        self._optimizer.load_state_dict(state["optimizer"])
        for one, known in zip(self._dice, state["dice"], strict=True):
            one.bit_generator.state = known
        return list(state["losses"])


def _vectors(table: torch.Tensor, bag: tuple[np.ndarray, ...]) -> torch.Tensor:
    rows, times, starts = map(torch.from_numpy, bag)
    sums = functional.embedding_bag(rows, table, starts, mode="sum", per_sample_weights=times)
    return functional.normalize(sums, dim=1)


def _drop_shared_words(
    query: tuple[np.ndarray, np.ndarray, np.ndarray],
    code: tuple[np.ndarray, np.ndarray, np.ndarray],
    drop: float,
    dice: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The codes with some of the words that their own queries have counted as absent."""
    shared = np.isin(_number_texts(code), _number_texts(query)) & (dice.random(len(code[0])) < drop)
    return code[0], np.where(shared, np.float32(0), code[1]), code[2]


def _number_texts(bag: tuple[np.ndarray, ...]) -> np.ndarray:
    lengths = np.diff(np.append(bag[2], len(bag[0])))
    return np.repeat(np.arange(len(bag[2])), lengths) * 1_000_000 + bag[0]


if __name__ == "__main__":
    main()
