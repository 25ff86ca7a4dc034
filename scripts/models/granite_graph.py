"""The RoBERTa graph of granite-embedding-30m-english in ONNX, for any way of storing its weights.

The output is one finished vector per text, so the last layer computes nothing but the first token.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import onnx
from granite_pack import Groups, Pack
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
OPSET = 21
IR_VERSION = 10  # what onnxruntime 1.18 and later read
OUTPUT = "sentence_embedding"
WHOLE = slice(0, None)  # all rows of a matrix


class Graph:
    """Collects nodes and constants; every value is named after the node that makes it."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: np.ndarray | np.generic) -> str:
        """Keep ``value`` under ``name``, once."""
        if name not in self.constants:
            array = np.ascontiguousarray(value).reshape(value.shape)
            self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def node(
        self, kind: str, inputs: Sequence[str], name: str, *, domain: str = "", **attributes: object
    ) -> str:
        """Add a node with one output, which carries the node's name."""
        self.nodes.append(
            helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes)
        )
        return name

    def integers(self, *values: int) -> str:
        """A constant list of int64."""
        name = "int_" + "_".join(map(str, values))
        return self.constant(name.replace("-", "minus"), np.array(values, np.int64))


class Weights(Protocol):
    """One way of storing the matrices and the word embeddings."""

    makes_matrices: bool

    def words(self, graph: Graph) -> str:
        """Look up ``input_ids``: float32 [batch, sequence, hidden]."""

    def matrix(self, graph: Graph, groups: Groups, name: str, rows: slice) -> str:
        """Float32 [inputs, outputs], if this way makes matrices."""

    def linear(self, graph: Graph, name: str, value: str, rows: slice) -> str:
        """``value`` times the pack's matrix ``name``, of which only ``rows`` are wanted."""


def build(pack: Pack, weights: Weights) -> onnx.ModelProto:
    """The whole model."""
    graph = Graph(pack)
    last = pack.size("layers") - 1
    value = embeddings(graph, weights)
    graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    for layer in range(last + 1):
        value = _layer(graph, weights, f"l{layer}.", value, last=layer == last)
    first = graph.node("Squeeze", [value, graph.integers(1)], "first_token")
    graph.node("LpNormalization", [first], OUTPUT, axis=-1, p=2)
    return model(graph, OUTPUT, ["batch", pack.size("hidden")])


def embeddings(graph: Graph, weights: Weights) -> str:
    """Words and positions, added and normalised."""
    offset = graph.pack.size("position_offset")
    table = (graph.pack.floats("pos_emb") + graph.pack.floats("type_emb")[0])[offset:]
    shape = graph.node("Shape", ["input_ids"], "length", start=1, end=2)
    positions = graph.node(
        "Slice",
        [graph.constant("positions.table", table), graph.integers(0), shape, graph.integers(0)],
        "positions",
    )
    return add_and_norm(graph, "emb_ln", weights.words(graph), positions)


def _layer(graph: Graph, weights: Weights, name: str, value: str, *, last: bool) -> str:
    asking = value
    if last:
        asking = graph.node(
            "Slice", [value, *(graph.integers(n) for n in (0, 1, 1))], name + "asking"
        )
    if weights.makes_matrices and not last:
        attended = _attention(graph, weights, name, value)
    else:
        attended = _attention_in_parts(graph, weights, name, asking, value)
    attended = linear(graph, weights, name + "ao", attended)
    value = add_and_norm(graph, name + "aln", attended, asking)
    inner = linear(graph, weights, name + "f1", value)
    inner = graph.node("Gelu", [inner], name + "gelu")
    inner = linear(graph, weights, name + "f2", inner)
    return add_and_norm(graph, name + "fln", inner, value)


def _attention(graph: Graph, weights: Weights, name: str, value: str) -> str:
    """The fused operator; beside plain MatMul and Softmax it saves no time, but memory."""
    matrix = weights.matrix(graph, graph.pack.groups(name + "qkv.w"), name + "qkv.w", WHOLE)
    return graph.node(
        "Attention", [value, matrix, _bias(graph, name + "qkv"), "mask"],
        name + "attention", domain=MICROSOFT, num_heads=graph.pack.size("heads"),
    )  # fmt: skip


def _attention_in_parts(graph: Graph, weights: Weights, name: str, asking: str, value: str) -> str:
    """For the last layer, where one token asks, and for weights that only a product can read."""
    hidden = graph.pack.size("hidden")
    parts = [
        weights.linear(graph, name + "qkv", source, slice(start, start + hidden))
        for source, start in ((asking, 0), (value, hidden), (value, 2 * hidden))
    ]
    return graph.node(
        "MultiHeadAttention", [*parts, _bias(graph, name + "qkv"), "mask"],
        name + "attention", domain=MICROSOFT, num_heads=graph.pack.size("heads"),
    )  # fmt: skip


def linear(graph: Graph, weights: Weights, name: str, value: str) -> str:
    """``value`` times a whole matrix, plus its bias."""
    product = weights.linear(graph, name, value, WHOLE)
    return graph.node("Add", [product, _bias(graph, name)], name)


def add_and_norm(graph: Graph, name: str, value: str, beside: str) -> str:
    """The layer norm ``name`` of a sum."""
    total = graph.node("Add", [value, beside], name + ".sum")
    parts = [graph.constant(part, graph.pack.floats(part)) for part in (name + ".w", name + ".b")]
    epsilon = graph.pack.architecture["layer_norm_eps"]
    return graph.node("LayerNormalization", [total, *parts], name, axis=-1, epsilon=epsilon)


def _bias(graph: Graph, name: str) -> str:
    return graph.constant(name + ".b", graph.pack.floats(name + ".b"))


def model(graph: Graph, name: str, shape: list[str | int]) -> onnx.ModelProto:
    """The collected graph with its one output."""
    sizes = ["batch", "sequence"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, sizes)
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    return helper.make_model(
        helper.make_graph(graph.nodes, "granite", inputs, [output], list(graph.constants.values())),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)],
        ir_version=IR_VERSION,
        producer_name="codekernel",
    )
