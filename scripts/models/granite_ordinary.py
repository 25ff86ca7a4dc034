"""Granite as hubs ship it, for benchmarks to compare with: ``granite_ordinary.py WHEEL FILE``.

Float32 matrices, one plain operator per step, every token's last hidden state: what torch's
exporter writes, so that onnxruntime's own optimiser has the same to do. Nothing of it is shipped.
Runs in the throw-away environment of build_granite.py.
"""

import math
import sys
from pathlib import Path

import numpy as np
import onnx
from granite_folder import read_wheel
from granite_forms import Float32
from granite_graph import Graph, add_and_norm, embeddings, linear, model
from granite_pack import Pack
from onnx import TensorProto

OUTPUT = "last_hidden_state"
IGNORED = np.float32(np.finfo(np.float32).min)  # what transformers adds to the score of padding
ORDERS = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])  # of query, key and value: [batch, head, ...]


def build(pack: Pack) -> onnx.ModelProto:
    """The whole model, nothing left out of the last layer."""
    graph, weights = Graph(pack), Float32()
    value = embeddings(graph, weights)
    _mask(graph)
    for layer in range(pack.size("layers")):
        value = _layer(graph, weights, f"l{layer}.", value)
    graph.node("Identity", [value], OUTPUT)
    return model(graph, OUTPUT, ["batch", "sequence", pack.size("hidden")])


def _mask(graph: Graph) -> None:
    """Zero for a token, a very negative number for padding: [batch, 1, 1, sequence]."""
    wide = graph.node("Unsqueeze", ["attention_mask", graph.integers(1, 2)], "mask.wide")
    real = graph.node("Cast", [wide], "mask.float", to=TensorProto.FLOAT)
    padding = graph.node("Sub", [graph.constant("one", np.float32(1)), real], "mask.padding")
    graph.node("Mul", [padding, graph.constant("ignored", IGNORED)], "mask")


def _layer(graph: Graph, weights: Float32, name: str, value: str) -> str:
    attended = linear(graph, weights, name + "ao", _attention(graph, weights, name, value))
    value = add_and_norm(graph, name + "aln", attended, value)
    inner = _gelu(graph, name + "gelu", linear(graph, weights, name + "f1", value))
    return add_and_norm(graph, name + "fln", linear(graph, weights, name + "f2", inner), value)


def _attention(graph: Graph, weights: Float32, name: str, value: str) -> str:
    query, key, carried = (_heads(graph, weights, name, value, part) for part in range(3))
    size = graph.pack.size("hidden") // graph.pack.size("heads")
    root = graph.constant("root", np.float32(math.sqrt(size)))
    scores = graph.node("MatMul", [query, key], name + "scores")
    scores = graph.node("Div", [scores, root], name + "scores.scaled")
    scores = graph.node("Add", [scores, "mask"], name + "scores.masked")
    shares = graph.node("Softmax", [scores], name + "shares", axis=-1)
    mixed = graph.node("MatMul", [shares, carried], name + "mixed")
    mixed = graph.node("Transpose", [mixed], name + "mixed.tokens", perm=[0, 2, 1, 3])
    return graph.node("Reshape", [mixed, graph.integers(0, 0, -1)], name + "mixed.joined")


def _heads(graph: Graph, weights: Float32, name: str, value: str, part: int) -> str:
    """Query, key or value of each head: the three are matrices of their own."""
    hidden, heads = graph.pack.size("hidden"), graph.pack.size("heads")
    rows = slice(part * hidden, (part + 1) * hidden)
    made = weights.linear(graph, name + "qkv", value, rows)
    shift = graph.constant(f"{name}qkv.b{part}", graph.pack.floats(name + "qkv.b")[rows])
    made = graph.node("Add", [made, shift], f"{name}part{part}")
    made = graph.node("Reshape", [made, graph.integers(0, 0, heads, -1)], f"{name}split{part}")
    return graph.node("Transpose", [made], f"{name}heads{part}", perm=ORDERS[part])


def _gelu(graph: Graph, name: str, value: str) -> str:
    root = graph.constant("root2", np.float32(math.sqrt(2)))
    bent = graph.node("Erf", [graph.node("Div", [value, root], name + ".scaled")], name + ".erf")
    bent = graph.node("Add", [bent, graph.constant("one", np.float32(1))], name + ".raised")
    product = graph.node("Mul", [value, bent], name + ".product")
    return graph.node("Mul", [product, graph.constant("half", np.float32(0.5))], name)


if __name__ == "__main__":
    made = build(read_wheel(Path(sys.argv[1])))
    Path(sys.argv[2]).write_bytes(made.SerializeToString(deterministic=True))
