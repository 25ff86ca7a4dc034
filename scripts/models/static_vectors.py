"""The table: one vector per row of the vocabulary, made without gradient descent.

Start from what the teacher says of each word alone; then fit, in closed form, so that the weighted
sum of a text's words lies where the teacher puts the whole text (ridge regression towards the
start: a word the texts never use keeps its own vector).
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from tokenizers import Tokenizer

FIT_STEPS = 20  # of conjugate gradients: 40 changed no figure


def bags(
    texts: Sequence[str], tokenizer: Tokenizer, rows: np.ndarray, size: int
) -> sparse.csr_array:
    """How often each text has each row; row 0, the unknown, is left out."""
    found = [rows[np.array(e.ids, np.int64)] for e in tokenizer.encode_batch_fast(list(texts))]
    columns = np.concatenate(found)
    ends = np.cumsum([0, *map(len, found)])
    counts = sparse.csr_array(
        (np.ones(len(columns), np.float32), columns, ends), (len(texts), size)
    )
    counts.sum_duplicates()
    return sparse.csr_array(counts[:, 1:])


def weights(shares: np.ndarray, strength: float) -> np.ndarray:
    """Smooth inverse frequency: the commonest words count least."""
    return (strength / (strength + shares)).astype(np.float32)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Each row at length one; nothing stays nothing."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)


def principal(vectors: np.ndarray, dimensions: int, skipped: int = 0) -> np.ndarray:
    """The directions [features, dimensions] of largest variance, after ``skipped`` larger ones."""
    _, directions = np.linalg.eigh(np.cov(vectors, rowvar=False))
    ordered = directions[:, ::-1]
    largest = np.abs(ordered).argmax(axis=0)  # a sign that does not depend on the machine
    ordered = ordered * np.sign(ordered[largest, np.arange(ordered.shape[1])])
    return ordered[:, skipped : skipped + dimensions].astype(np.float32)


def fit(
    means: sparse.csr_array, targets: np.ndarray, start: np.ndarray, ridge: float
) -> np.ndarray:
    """Vectors near ``start`` whose means lie near ``targets``: ridge regression."""
    return start + _solve(means, ridge, means.T @ (targets - means @ start))


def mean_operator(counts: sparse.csr_array, weight: np.ndarray) -> sparse.csr_array:
    """The matrix that takes vectors of words to weighted means of texts."""
    weighted = counts.multiply(weight[None, :]).tocsr()
    totals = np.maximum(np.asarray(weighted.sum(axis=1)).ravel(), 1e-9)
    return sparse.csr_array(sparse.diags_array(1 / totals) @ weighted).astype(np.float32)


def _solve(means: sparse.csr_array, ridge: float, right: np.ndarray) -> np.ndarray:
    """Conjugate gradients for (means' means + ridge) x = right, all columns at once."""
    transposed = means.T.tocsr()
    found = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    length = (residual**2).sum(axis=0)
    for _ in range(FIT_STEPS):
        image = transposed @ (means @ direction) + ridge * direction
        step = length / np.maximum((direction * image).sum(axis=0), 1e-20)
        found += step * direction
        residual -= step * image
        shorter = (residual**2).sum(axis=0)
        direction = residual + (shorter / np.maximum(length, 1e-20)) * direction
        length = shorter
    return found
