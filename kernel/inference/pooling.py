"""Token vectors to text vectors."""

import numpy as np
import numpy.typing as npt

from kernel.inference.model_folder import Pooling

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


def pool(hidden: Floats, mask: Integers, pooling: Pooling) -> Floats:
    """One vector per text; ``hidden`` is [texts, tokens, dimensions], padding on the right."""
    match pooling:
        case Pooling.CLS:
            pooled = hidden[:, 0]
        case Pooling.LAST:
            last = np.maximum(mask.sum(axis=1) - 1, 0)
            pooled = hidden[np.arange(len(hidden)), last]
        case Pooling.MEAN:
            weights = mask[:, :, None].astype(np.float32)
            total = (hidden * weights).sum(axis=1)
            pooled = total / np.maximum(weights.sum(axis=1), np.float32(1))
        case Pooling.NONE:
            pooled = hidden
    return np.asarray(pooled, np.float32)


def normalized(vectors: Floats) -> Floats:
    """Vectors of length one; those of length zero stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), np.float32)
