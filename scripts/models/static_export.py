"""The model's folder: table and row numbers in one small ONNX graph, and what a loader reads.

The graph gathers int8 rows first and turns only those into floats; a row's scale and the mask are
the left side of one matrix product, so that summing and dequantising are the same step. A word that
stands n times in a text counts sqrt(n) times: the occurrences are counted in a small histogram.
"""

from pathlib import Path

import numpy as np
import onnx
from manifest import write_json
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

MAX_TOKENS = 2048
TOKENS_PER_BATCH = 4096  # 4 MB of gathered rows; 512, the usual, costs a quarter of the speed
OUTPUT = "sentence_embedding"
OPSET = 17
IR_VERSION = 9
MIN_LENGTH = 1e-12  # a text without known words has the zero vector, not NaN
MAX_INT8 = 127
# The histogram's width. Rows are in order of frequency, so words that share a place are rare ones.
PLACES = 8192


def quantise(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 [rows, dimensions] and one scale per row."""
    scales = np.abs(table).max(axis=1) / MAX_INT8
    values = np.rint(table / np.maximum(scales, MIN_LENGTH)[:, None])
    return values.astype(np.int8), scales.astype(np.float32)


def graph(table: np.ndarray, rows: np.ndarray) -> onnx.ModelProto:
    """The model for ``table`` (row 0 is nothing) and the row of every token."""
    values, scales = quantise(table)
    constants = {
        "rows": rows.astype(np.int32),
        "values": values,
        "scales": scales,
        "width": np.array([PLACES], np.int64),
        "places": np.array(PLACES, np.int32),
        "once": np.array(1, np.float32),
        "middle": np.array([1], np.int64),
        "smallest": np.array(MIN_LENGTH, np.float32),
    }
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", table.shape[1]])
    stored = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    built = helper.make_graph([*_shares(), *_sum()], "static", inputs, [output], stored)
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(built, opset_imports=[opset], ir_version=IR_VERSION)


def _shares() -> list[onnx.NodeProto]:
    """How much of its int8 row each token adds: scale / sqrt(occurrences), nothing for padding."""
    node = helper.make_node
    zero = helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0])
    return [
        node("Gather", ["rows", "input_ids"], ["row"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Shape", ["input_ids"], ["batch"], start=0, end=1),
        node("Concat", ["batch", "width"], ["size"], axis=0),
        node("ConstantOfShape", ["size"], ["empty"], value=zero),
        node("Mod", ["row", "places"], ["place"]),
        node("ScatterElements", ["empty", "place", "mask"], ["seen"], axis=1, reduction="add"),
        node("GatherElements", ["seen", "place"], ["times"], axis=1),
        node("Max", ["times", "once"], ["occurrences"]),
        node("Sqrt", ["occurrences"], ["damping"]),
        node("Gather", ["scales", "row"], ["scale"]),
        node("Mul", ["scale", "mask"], ["masked"]),
        node("Div", ["masked", "damping"], ["share"]),
    ]


def _sum() -> list[onnx.NodeProto]:
    """The weighted sum of the rows, at length one."""
    node = helper.make_node
    return [
        node("Unsqueeze", ["share", "middle"], ["shares"]),
        node("Gather", ["values", "row"], ["small"]),
        node("Cast", ["small"], ["vectors"], to=TensorProto.FLOAT),
        node("MatMul", ["shares", "vectors"], ["sums"]),
        node("Squeeze", ["sums", "middle"], ["sum"]),
        node("ReduceL2", ["sum"], ["length"], axes=[1], keepdims=1),
        node("Max", ["length", "smallest"], ["divisor"]),
        node("Div", ["sum", "divisor"], [OUTPUT]),
    ]


def write(folder: Path, table: np.ndarray, rows: np.ndarray, tokenizer: Tokenizer) -> None:
    """Everything but the files written by hand (README.md, LICENSE) and the canonical vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    model = graph(table, rows)
    onnx.checker.check_model(model)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    config = {
        "model_type": "static",
        "architectures": ["StaticEmbedding"],
        "hidden_size": table.shape[1],
        "vocab_size": len(rows),
        "table_rows": len(table),
        "max_position_embeddings": MAX_TOKENS,
        "pad_token_id": 0,
        "unk_token_id": 1,
    }
    write_json(folder / "config.json", config)
    behaviour = {
        "pooling": "none",
        "normalize": False,
        "queryPrefix": "",
        "documentPrefix": "",
        "maxTokens": MAX_TOKENS,
        "tokensPerBatch": TOKENS_PER_BATCH,
        "output": OUTPUT,
    }
    write_json(folder / "codekernel.json", behaviour)
