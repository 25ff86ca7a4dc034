"""The cross-encoder in ONNX, with granite's int8 groups: what ``cross_encoder.py`` computes.

It reads ``<s> query </s> <s> text </s>``, the text with type 1. A reranker's number goes through a
sigmoid, so it is moved to around 0.
"""

import granite_graph
import numpy as np
import onnx
from cross_encoder import LAYERS
from granite_graph import MICROSOFT, Graph, Weights
from onnx import TensorProto, helper

OUTPUT = "logits"
FORBIDDEN = -10_000.0
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def build(
    graph: Graph, weights: Weights, head: dict[str, np.ndarray], apart: int
) -> onnx.ModelProto:
    """The whole model; ``head`` has its weights and the ``middle`` of its numbers."""
    _sides(graph)
    states = _add_embeddings(graph, weights)
    for number in range(LAYERS):
        bias = "apart" if number < apart else "together"
        states = _layer(graph, weights, f"l{number}.", states, bias)
    _number(graph, states, head)
    model = granite_graph.model(graph, OUTPUT, ["batch", 1])
    types = helper.make_tensor_value_info(INPUTS[2], TensorProto.INT64, ["batch", "sequence"])
    model.graph.input.append(types)
    return model


def _sides(graph: Graph) -> None:
    """Which token is the query's, which the text's, and what may see what."""
    node, numbers = graph.node, graph.integers
    node("Cast", ["attention_mask"], "real", to=TensorProto.FLOAT)
    node("Cast", ["token_type_ids"], "typed", to=TensorProto.FLOAT)
    node("Mul", ["real", "typed"], "texts")
    node("Sub", ["real", "texts"], "queries")
    one = graph.constant("one", np.float32(1))
    forbidden = graph.constant("forbidden", np.float32(FORBIDDEN))
    node("Unsqueeze", ["real", numbers(1, 2)], "seen")
    node("Mul", [node("Sub", [one, "seen"], "unseen"), forbidden], "padding")
    row = node("Unsqueeze", ["typed", numbers(1, 3)], "typed.row")
    column = node("Unsqueeze", ["typed", numbers(1, 2)], "typed.column")
    other = node("Abs", [node("Sub", [row, column], "typed.difference")], "other")
    foreign = node("Mul", [other, forbidden], "foreign")
    node("Add", [foreign, "padding"], "apart")
    zero = graph.constant("zero", np.float32(0))
    node("Add", [node("Mul", [other, zero], "free"), "padding"], "together")


def _add_embeddings(graph: Graph, weights: Weights) -> str:
    """Words and places; the text's places begin anew."""
    node, offset = graph.node, graph.pack.size("position_offset")
    table = (graph.pack.floats("pos_emb") + graph.pack.floats("type_emb")[0])[offset:]
    asked = node("ReduceSum", ["queries", graph.integers(1)], "asked", keepdims=1)
    ones = node("Add", [node("Mul", ["real", "zero"], "nothing"), "one"], "ones")
    counted = node("CumSum", [ones, graph.constant("axis", np.int64(1))], "counted", exclusive=1)
    begins = node("Mul", [asked, "texts"], "begins")
    node("Cast", [node("Sub", [counted, begins], "place.float")], "place", to=TensorProto.INT64)
    places = node("Gather", [graph.constant("places.table", table), "place"], "places")
    return granite_graph.add_and_norm(graph, "emb_ln", weights.words(graph), places)


def _layer(graph: Graph, weights: Weights, name: str, value: str, bias: str) -> str:
    hidden = graph.pack.size("hidden")
    parts = [
        weights.linear(graph, name + "qkv", value, slice(start, start + hidden))
        for start in (0, hidden, 2 * hidden)
    ]
    added = graph.constant(name + "qkv.b", graph.pack.floats(name + "qkv.b"))
    attended = graph.node(
        "MultiHeadAttention", [*parts, added, "", bias],
        name + "attention", domain=MICROSOFT, num_heads=graph.pack.size("heads"),
    )  # fmt: skip
    attended = granite_graph.linear(graph, weights, name + "ao", attended)
    value = granite_graph.add_and_norm(graph, name + "aln", attended, value)
    inner = granite_graph.linear(graph, weights, name + "f1", value)
    inner = graph.node("Gelu", [inner], name + "gelu")
    inner = granite_graph.linear(graph, weights, name + "f2", inner)
    return granite_graph.add_and_norm(graph, name + "fln", inner, value)


def _number(graph: Graph, states: str, head: dict[str, np.ndarray]) -> None:
    """The first states read together, their cosine, and how well the query's words are met."""
    node, numbers, constant = graph.node, graph.integers, graph.constant
    node("Equal", ["place", constant("begin", np.int64(0))], "begins.here")
    node("Cast", ["begins.here"], "firsts", to=TensorProto.FLOAT)
    ends = [node("Mul", ["firsts", side], f"{side}.first") for side in ("queries", "texts")]
    node("LpNormalization", [states], "straight", axis=-1, p=2)
    product = node("Mul", [_at(graph, "straight", end) for end in ends], "near.parts")
    near = node("ReduceSum", [product, numbers(1)], "near", keepdims=1)

    turned = node("Transpose", ["straight"], "straight.turned", perm=[0, 2, 1])
    met = node("MatMul", ["straight", turned], "met")
    column = node("Unsqueeze", ["texts", numbers(1)], "texts.column")
    outside = node("Mul", [node("Sub", ["one", column], "texts.not"), "forbidden"], "texts.outside")
    met = node("Add", [met, outside], "met.texts")
    best = node("ReduceMax", [met, numbers(2)], "best", keepdims=0)
    told = node("Sub", ["queries", ends[0]], "told")
    best = node("ReduceSum", [node("Mul", [best, told], "best.told"), numbers(1)], "best.sum")
    share = node("Div", [best, node("ReduceSum", [told, numbers(1)], "told.sum")], "share")

    value = node("Concat", [_at(graph, states, end) for end in ends], "read.both", axis=1)
    for number in (0, 2):
        parts = [
            constant(f"head.{number}.{it}", head[f"{number}.{it}"]) for it in ("weight", "bias")
        ]
        value = node("Gemm", [value, *parts], f"read.{number}", transB=1)
        value = node("Tanh", [value], "read.tanh") if number == 0 else value
    for part, weight in ((near, head["mix"][:1]), (share, head["mix"][1:])):
        mixed = node("Mul", [part, constant(f"{part}.weight", weight)], f"{part}.mixed")
        value = node("Add", [value, mixed], f"{part}.added")
    node("Sub", [value, constant("middle", head["middle"])], OUTPUT)


def _at(graph: Graph, states: str, end: str) -> str:
    """The state at the one place where ``end`` is 1."""
    row = graph.node("Unsqueeze", [end, graph.integers(1)], f"{states}.{end}.row")
    state = graph.node("MatMul", [row, states], f"{states}.{end}.state")
    return graph.node("Squeeze", [state, graph.integers(1)], f"{states}.{end}")
