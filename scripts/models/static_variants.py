"""The ways of making the table that were compared, and the one that was kept."""

from dataclasses import dataclass, replace

import numpy as np
import static_vectors
from scipy import sparse


@dataclass(frozen=True)
class Lessons:
    """What the teacher said: of each row alone, of chunks, of sentences."""

    shares: np.ndarray  # of all text, per row
    rows: np.ndarray  # centred vectors of single words and characters
    chunks: np.ndarray
    sentences: np.ndarray
    counts: sparse.csr_array  # the rows in the chunks, then in the sentences


@dataclass(frozen=True)
class Variant:
    """One way. The defaults are what the folder is made with."""

    name: str = "kept"
    strength: float = 2e-3  # of smooth inverse frequency
    power: float = 0.5  # of the number of times a word stands in a text
    dimensions: int = 256
    fitted: bool = True
    ridge: float = 0.1
    reach: float = 1.5  # of the single words' vectors, times their best least-squares scale
    whitening: float = 0.75  # 0 keeps the teacher's variances, 1 makes them equal
    apart: bool = True  # chunks and sentences are centred apart: their difference is no meaning


KEPT = Variant()
COMPARED = (
    Variant("single words, no fit, plain counts", power=1.0, fitted=False, whitening=0.0),
    Variant("single words, no fit", fitted=False, whitening=0.0),
    Variant("single words, no fit, whitened", fitted=False),
    replace(KEPT, name="kept, plain counts", power=1.0),
    replace(KEPT, name="kept, not whitened", whitening=0.0),
    replace(KEPT, name="kept, fully whitened", whitening=1.0),
    replace(KEPT, name="kept, centred together", apart=False),
    replace(KEPT, name="kept, strength 0.0005", strength=5e-4),
    replace(KEPT, name="kept, 128 dimensions", dimensions=128),
    replace(KEPT, name="kept, 384 dimensions", dimensions=384),
    KEPT,
)


def damp_counts(counts: sparse.csr_array, power: float) -> sparse.csr_array:
    """Repeated words count less than their number."""
    changed = counts.copy()
    changed.data = changed.data**power
    return changed


def table(lessons: Lessons, variant: Variant) -> np.ndarray:
    """The weighted vectors [rows, dimensions], summed up by the model."""
    texts = _targets(lessons, apart=variant.apart)
    directions = static_vectors.principal(texts, variant.dimensions)
    targets, start = texts @ directions, lessons.rows @ directions
    spread = targets.std(axis=0)
    levelling = (spread.mean() / spread) ** variant.whitening
    targets, start = targets * levelling, start * levelling
    weight = static_vectors.weights(lessons.shares, variant.strength)
    if variant.fitted:
        means = static_vectors.mean_operator(damp_counts(lessons.counts, variant.power), weight)
        guess = means @ start
        scale = float((guess * targets).sum() / (guess**2).sum())
        start = static_vectors.fit(means, targets, start * scale * variant.reach, variant.ridge)
    return start * weight[:, None]


def _targets(lessons: Lessons, *, apart: bool) -> np.ndarray:
    groups = [lessons.chunks, lessons.sentences]
    if not apart:
        groups = [np.concatenate(groups)]
    return np.concatenate([static_vectors.unit(group - group.mean(axis=0)) for group in groups])
