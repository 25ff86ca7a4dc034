"""Searchers for ../shared/bench/score.py: each model alone, BM25 alone, and the two fused.

A base line for models, not the product's search: pieces of 50 lines, no ranking beyond fusion.
Vectors are kept in $CODEKERNEL_BENCH_CACHE, so that a second run embeds nothing.
"""

import hashlib
import math
import os
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.inference.model_folder import STATIC_MODEL, TRANSFORMER_MODEL, get_bundled_folder
from codekernel.inference.model_pool import ModelPool

LINES = 50
MAX_FILE_BYTES = 500_000
# The usual constants of BM25 and of reciprocal-rank fusion.
SATURATION, LENGTH_SHARE, RANK_OFFSET = 1.2, 0.75, 60
POOL = 200
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[\u4e00-\u9fff]")

Hit = tuple[str, int, int]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Piece:
    """Some lines of a file."""

    path: str
    first: int
    last: int
    text: str


def split_files(root: Path) -> list[Piece]:
    """Every text file below ``root``, 50 lines at a time."""
    found = []
    for file in sorted(root.rglob("*")):
        if not file.is_file() or file.stat().st_size > MAX_FILE_BYTES or ".git" in file.parts:
            continue
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (UnicodeDecodeError, OSError):
            continue
        path = file.relative_to(root).as_posix()
        for start in range(0, len(lines), LINES):
            body = lines[start : start + LINES]
            found.append(Piece(path, start + 1, start + len(body), "\n".join([path, *body])))
    return found


class Bm25:
    """Okapi BM25 over the parts of identifiers."""

    name = "BM25, identifiers split"

    def index(self, root: Path) -> tuple[list[Piece], dict[str, list[tuple[int, float]]]]:
        """The postings of every word, with their weights."""
        pieces = split_files(root)
        counts = [Counter(split_words(piece.text)) for piece in pieces]
        mean = sum(map(Counter.total, counts)) / max(1, len(counts))
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, count in enumerate(counts):
            norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * count.total() / mean)
            for word, times in count.items():
                postings[word].append((number, times * (SATURATION + 1) / (times + norm)))
        return pieces, postings

    def search(self, handle: tuple[list[Piece], dict[str, list[tuple[int, float]]]], query: str, k: int) -> list[Hit]:  # fmt: skip # noqa: E501
        """The best pieces."""
        pieces, postings = handle
        return [_hit(pieces[number]) for number in self.ranked(pieces, postings, query)[:k]]

    def ranked(
        self, pieces: list[Piece], postings: dict[str, list[tuple[int, float]]], query: str
    ) -> list[int]:
        """Numbers of pieces, best first."""
        scores: dict[int, float] = defaultdict(float)
        for word in split_words(query):
            found = postings.get(word, [])
            rarity = math.log(1 + (len(pieces) - len(found) + 0.5) / (len(found) + 0.5))
            for number, weight in found:
                scores[number] += rarity * weight
        return sorted(scores, key=lambda number: -scores[number])[:POOL]


Postings = dict[str, list[tuple[int, float]]]
Handle = tuple[tuple[list[Piece], Floats], tuple[list[Piece], Postings]]


class _Dense:
    """One model alone, by cosine."""

    model = ""

    def __init__(self) -> None:
        self._lent = ModelPool().acquire_embedder(get_bundled_folder() / self.model, Performance())
        self._embedder = self._lent.__enter__()
        self.name = f"{self.model} alone"

    def index(self, root: Path) -> tuple[list[Piece], Floats]:
        """The vectors of every piece."""
        pieces = split_files(root)
        return pieces, self._vectors([piece.text for piece in pieces])

    def search(self, handle: tuple[list[Piece], Floats], query: str, k: int) -> list[Hit]:
        """The nearest pieces."""
        pieces, vectors = handle
        return [_hit(pieces[number]) for number in self.ranked(vectors, query)[:k]]

    def ranked(self, vectors: Floats, query: str) -> list[int]:
        """Numbers of pieces, nearest first."""
        order: list[int] = np.argsort(-(vectors @ self._embedder.embed_query(query))).tolist()
        return order[:POOL]

    def _vectors(self, texts: list[str]) -> Floats:
        folder = Path(os.environ.get("CODEKERNEL_BENCH_CACHE", ".bench-cache"))
        key = hashlib.sha256("\0".join([self._embedder.folder.fingerprint, *texts]).encode())
        file = folder / f"{key.hexdigest()[:32]}.npy"
        if file.exists():
            kept: Floats = np.load(file)
            return kept
        vectors = self._embedder.embed_documents(texts, CancelToken())
        folder.mkdir(parents=True, exist_ok=True)
        np.save(file, vectors)
        return vectors


class Static(_Dense):
    """The static model alone."""

    model = STATIC_MODEL


class Transformer(_Dense):
    """The transformer alone."""

    model = TRANSFORMER_MODEL


class _Fused:
    """A model and BM25 by reciprocal-rank fusion."""

    dense: type[_Dense] = _Dense

    def __init__(self) -> None:
        self._dense = self.dense()
        self._bm25 = Bm25()
        self.name = f"{self._dense.model} + BM25"

    def index(self, root: Path) -> Handle:
        """Both indexes."""
        return self._dense.index(root), self._bm25.index(root)

    def search(self, handle: Handle, query: str, k: int) -> list[Hit]:
        """The best of both."""
        (pieces, vectors), (_, postings) = handle
        scores: dict[int, float] = defaultdict(float)
        for ranked in (
            self._dense.ranked(vectors, query),
            self._bm25.ranked(pieces, postings, query),
        ):
            for rank, number in enumerate(ranked):
                scores[number] += 1 / (RANK_OFFSET + rank + 1)
        best = sorted(scores, key=lambda number: -scores[number])[:k]
        return [_hit(pieces[number]) for number in best]


class StaticFused(_Fused):
    """The static model and BM25."""

    dense = Static


class TransformerFused(_Fused):
    """The transformer and BM25."""

    dense = Transformer


def split_words(text: str) -> list[str]:
    """The parts of identifiers and words, lower case; Chinese by character."""
    return [word.lower() for word in WORD.findall(text)]


def _hit(piece: Piece) -> Hit:
    return piece.path, piece.first, piece.last
