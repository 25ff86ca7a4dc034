"""Whether an inverted list beside the scan pays: ``vector_lists.py --repos DIR [--rows N ...]``.

Rows are the static model's vectors of real pieces of code, then noisy copies of them; the questions
are the benchmark's. Rows are put in the order of their nearest centroid, and a search looks only
into the lists of the nearest ones, with the same codes and the same arithmetic as the product's.
Recall@100 is that of the scan of all codes. Processor time of the searching thread.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rivals
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.inference.model_folder import STATIC_MODEL
from codekernel.inference.model_pool import Embedder, ModelPool
from codekernel.settings.local_models import list_built_in_models
from codekernel.storage.vectors.in_memory_vectors import (
    BLOCK_ROWS,
    DEQUANTIZED_ROWS,
    MIN_HAMMING_CANDIDATES,
    FloatArray,
    InMemoryVectors,
    Int64Array,
    Positions,
    QuantizedVectors,
    dequantize,
    normalize_rows,
    pack_signs,
    quantize,
)
from rival_tables import percentile
from rival_venv import ROOT

LINES, STEP = 24, 8
PIECES_A_BATCH = 4_096
# Added to each number of a copy, in shares of 1/sqrt(dimensions).
NOISE = 0.3
TRAINED_ROWS, ROUNDS = 65_536, 6
QUESTIONS, WANTED = 100, 100
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
SEED = 8


def main() -> int:
    """Print a row for each size and share of the lists."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--rows", type=int, nargs="*", default=(300_000, 1_000_000))
    options = parser.parse_args()
    places = {each.name: each.source for each in list_built_in_models()}
    static = places[STATIC_MODEL]
    if not isinstance(static, Path):
        parser.error("the static model is not on this machine")
    with ModelPool().acquire_embedder(static, Performance()) as embedder:
        pieces = np.concatenate(list(_embed_pieces(options.repos, embedder)))
        asked = [
            text
            for repo in sorted(options.repos.iterdir())
            if (options.bench / "queries" / f"{repo.name}.json").exists()
            for text in rivals.queries(options.bench, repo.name)
        ]
        step = max(1, len(asked) // QUESTIONS)
        questions = normalize_rows(np.stack(list(map(embedder.embed_query, asked[::step]))))
    print(f"{len(pieces):,} real pieces, {len(questions)} questions\n")
    print("| rows | lists | made in CPU s | looked into | recall@100 | p50 CPU ms | p95 CPU ms |")
    print("|---" * 7 + "|")
    for rows in options.rows:
        _measure(_make_rows(pieces, rows), questions)
    return 0


@dataclass(frozen=True)
class Lists:
    """Codes in the order of their lists, and where each list begins."""

    centroids: FloatArray
    starts: Positions
    keys: Int64Array
    codes: QuantizedVectors

    def search(self, query: FloatArray, share: float) -> Int64Array:
        """Return the nearest keys in the nearest lists."""
        count = max(1, round(share * len(self.centroids)))
        nearest = np.argpartition(-(self.centroids @ query), count - 1)[:count]
        spans = [slice(self.starts[each], self.starts[each + 1]) for each in np.sort(nearest)]
        signs = np.concatenate([self.codes.signs[span] for span in spans])
        bits = np.bitwise_count(signs ^ pack_signs(query[None])[0])
        differences = bits.sum(axis=1, dtype=np.uint16)
        places = np.concatenate([np.arange(span.start, span.stop) for span in spans])
        if len(places) > MIN_HAMMING_CANDIDATES:
            limit = MIN_HAMMING_CANDIDATES - 1
            places = places[np.argpartition(differences, limit)[: limit + 1]]
        cosines = np.empty(len(places), np.float32)
        for at in range(0, len(places), DEQUANTIZED_ROWS):
            part = slice(at, at + DEQUANTIZED_ROWS)
            chosen = QuantizedVectors(*(column[places[part]] for column in self.codes))
            cosines[part] = (dequantize(chosen, len(query)) @ query) * chosen.scale
        best = np.argsort(-cosines)[:WANTED]
        found: Int64Array = self.keys[places[best]]
        return found


def _measure(rows: FloatArray, questions: FloatArray) -> None:
    scanned = InMemoryVectors(rows.shape[1])
    scanned.append(np.arange(len(rows)), rows)
    used, truth = [], []
    for question in questions:
        before = time.thread_time()
        truth.append(set(scanned.find_nearest(question, WANTED)[0].tolist()))
        used.append((time.thread_time() - before) * 1e3)
    _print_row(len(rows), 0, 0.0, "all, by the scan", 1.0, used)
    del scanned
    before = time.process_time()
    lists = _make_lists(rows)
    took = time.process_time() - before
    for share in SHARES:
        used, kept = [], 0
        for question, wanted in zip(questions, truth, strict=True):
            before = time.thread_time()
            found = lists.search(question, share)
            used.append((time.thread_time() - before) * 1e3)
            kept += len(wanted & set(found.tolist()))
        recall = kept / WANTED / len(questions)
        _print_row(len(rows), len(lists.centroids), took, f"{share:.0%}", recall, used)


def _print_row(  # noqa: PLR0913, PLR0917 - a row
    rows: int, lists: int, took: float, looked: str, recall: float, used: list[float]
) -> None:
    p50, p95 = (percentile(used, part) for part in (0.5, 0.95))
    print(
        f"| {rows:,} | {lists or ''} | {took:.0f} | {looked} | {recall:.3f} | {p50:.1f} "
        f"| {p95:.1f} |",
        flush=True,
    )


def _make_lists(rows: FloatArray) -> Lists:
    """Cluster the rows: a sample is enough for the centroids."""
    chosen = np.random.default_rng(SEED)
    count = 1 << int(np.log2(np.sqrt(len(rows))))
    sample = rows[chosen.choice(len(rows), min(TRAINED_ROWS, len(rows)), replace=False)]
    centroids = sample[:count].copy()
    for _ in range(ROUNDS):
        nearest = _find_nearest_centroids(sample, centroids)
        sums = np.zeros_like(centroids)
        np.add.at(sums, nearest, sample)
        centroids = normalize_rows(np.where(sums.any(axis=1, keepdims=True), sums, centroids))
    nearest = _find_nearest_centroids(rows, centroids)
    order = np.argsort(nearest, kind="stable")
    starts = np.searchsorted(nearest[order], np.arange(count + 1))
    parts = [quantize(rows[order[at : at + BLOCK_ROWS]]) for at in range(0, len(rows), BLOCK_ROWS)]
    codes = QuantizedVectors(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return Lists(centroids, starts, order, codes)


def _find_nearest_centroids(rows: FloatArray, centroids: FloatArray) -> Positions:
    spans = range(0, len(rows), BLOCK_ROWS)
    found = [np.argmax(rows[at : at + BLOCK_ROWS] @ centroids.T, axis=1) for at in spans]
    return np.concatenate(found)


def _make_rows(pieces: FloatArray, count: int) -> FloatArray:
    """Return so many rows: the real ones, then noisy copies."""
    if count <= len(pieces):
        return pieces[:count]
    chosen = np.random.default_rng(SEED)
    copies = pieces[chosen.integers(len(pieces), size=count - len(pieces))]
    noise = NOISE / np.sqrt(pieces.shape[1])
    for at in range(0, len(copies), BLOCK_ROWS):
        part = copies[at : at + BLOCK_ROWS]
        part += noise * chosen.standard_normal(part.shape, np.float32)
        part[:] = normalize_rows(part)
    return np.concatenate([pieces, copies])


def _embed_pieces(repos: Path, embedder: Embedder) -> Iterator[FloatArray]:
    """Yield the vectors of overlapping pieces of every text file, in no order of theirs."""
    pieces = [
        "\n".join(lines[at : at + LINES])
        for file in sorted(repos.rglob("*"))
        if ".git" not in file.parts and file.is_file() and not file.is_symlink()
        for lines in [_read_lines(file)]
        for at in range(0, len(lines), STEP)
    ]
    np.random.default_rng(SEED).shuffle(pieces)
    for at in range(0, len(pieces), PIECES_A_BATCH):
        batch = pieces[at : at + PIECES_A_BATCH]
        yield normalize_rows(embedder.embed_documents(batch, CancelToken()))


def _read_lines(file: Path) -> list[str]:
    content = file.read_bytes()
    return [] if b"\0" in content[:4096] else content.decode(errors="replace").splitlines()


if __name__ == "__main__":
    sys.exit(main())
