"""Read an answer of ``/v1/embeddings``: one vector for each text, in the order of the texts.

Servers answer with numbers or with base64 of float32, in any order of ``index``.
"""

import base64
import binascii
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]


class InvalidAnswer(ValueError):
    """An answer that is no list of vectors; the message continues after the name of the host."""


def parse_vectors(answer: Any, count: int) -> FloatArray:
    """Return one vector for each of ``count`` texts. Raises InvalidAnswer."""
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise InvalidAnswer("did not answer with embeddings: check that the url is that of its API")
    if len(entries) != count:
        raise InvalidAnswer(f"was sent {count} texts and answered with {len(entries)} vectors")
    places = [each.get("index", place) for place, each in enumerate(entries)]
    if sorted(map(_as_place, places)) != list(range(count)):
        raise InvalidAnswer("answered with vectors that name one text twice, and another never")
    rows = [_parse_vector(each.get("embedding")) for each in entries]
    if len({len(row) for row in rows}) > 1:
        raise InvalidAnswer("answered with vectors of different lengths")
    vectors = np.empty((count, len(rows[0]) if rows else 0), np.float32)
    for place, row in zip(places, rows, strict=True):
        vectors[place] = row
    if not np.isfinite(vectors).all():
        raise InvalidAnswer("answered with vectors that are not finite numbers")
    return _normalize(vectors)


def _as_place(value: object) -> int:
    return value if isinstance(value, int) else -1


def _parse_vector(value: object) -> FloatArray:
    try:
        if isinstance(value, str):
            vector = np.frombuffer(base64.b64decode(value, validate=True), "<f4")
        else:
            vector = np.asarray(value, np.float32)
    except (ValueError, TypeError, binascii.Error):
        vector = np.empty(0, np.float32)
    if vector.ndim != 1 or not len(vector):
        raise InvalidAnswer("answered with something that is no vector")
    return vector


def _normalize(vectors: FloatArray) -> FloatArray:
    """Return vectors of length one, which some servers leave to their clients."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), np.float32)
