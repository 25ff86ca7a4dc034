"""Granite computed plainly with numpy in float64: what the shipped graph is checked against.

It shares nothing with the graph but the pack, and float64 makes its digits the same on any machine.
"""

import math

import numpy as np
from granite_pack import Pack

erf = np.vectorize(math.erf)


def embed(pack: Pack, ids: list[int]) -> np.ndarray:
    """The first token's last hidden state, scaled to length 1."""
    words = pack.floats("word_emb")[ids].astype(np.float64)
    start = pack.size("position_offset")
    positions = pack.floats("pos_emb")[start : start + len(ids)].astype(np.float64)
    value = _norm(pack, "emb_ln", words + positions + pack.floats("type_emb")[0])
    for layer in range(pack.size("layers")):
        value = _layer(pack, f"l{layer}.", value)
    return value[0] / np.linalg.norm(value[0])


def _layer(pack: Pack, name: str, value: np.ndarray) -> np.ndarray:
    value = _norm(pack, name + "aln", value + _linear(pack, name + "ao", _mix(pack, name, value)))
    inner = _linear(pack, name + "f1", value)
    inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
    return _norm(pack, name + "fln", value + _linear(pack, name + "f2", inner))


def _mix(pack: Pack, name: str, value: np.ndarray) -> np.ndarray:
    """Attention: each head's tokens, weighted by how well their keys fit each token's query."""
    heads = pack.size("heads")
    parts = _linear(pack, name + "qkv", value).reshape(len(value), 3, heads, -1)
    query, key, carried = parts.transpose(1, 2, 0, 3)
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = shares / shares.sum(-1, keepdims=True) @ carried
    return mixed.transpose(1, 0, 2).reshape(len(value), -1)


def _linear(pack: Pack, name: str, value: np.ndarray) -> np.ndarray:
    return value @ pack.floats(name + ".w").T.astype(np.float64) + pack.floats(name + ".b")


def _norm(pack: Pack, name: str, value: np.ndarray) -> np.ndarray:
    centred = value - value.mean(-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(-1, keepdims=True) + pack.architecture["layer_norm_eps"])
    return centred / spread * pack.floats(name + ".w") + pack.floats(name + ".b")
