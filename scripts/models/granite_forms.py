"""The ways of storing granite's weights that were compared; ``Int8Folded`` is the one we ship."""

import numpy as np
from granite_graph import MICROSOFT, Graph
from granite_pack import Groups
from onnx import TensorProto


class Float32:
    """Plain float32 matrices: the reference."""

    makes_matrices = True

    def words(self, graph: Graph) -> str:
        """One row of floats per token."""
        table = graph.constant("words.table", graph.pack.floats("word_emb"))
        return graph.node("Gather", [table, "input_ids"], "words")

    def linear(self, graph: Graph, name: str, value: str, rows: slice) -> str:
        """MatMul by a matrix made by ``matrix``."""
        made = matrix_name(name, rows)
        matrix = self.matrix(graph, graph.pack.groups(name + ".w"), made, rows)
        return graph.node("MatMul", [value, matrix], made + ".product")

    def matrix(self, graph: Graph, groups: Groups, name: str, rows: slice) -> str:
        """Float32 [inputs, outputs]."""
        return graph.constant(name, groups.floats()[rows].T)


class Float16(Float32):
    """Float16 in the file; onnxruntime folds the cast, so arithmetic is float32."""

    def words(self, graph: Graph) -> str:
        """Half-precision rows, cast after the look-up."""
        table = graph.constant("words.table", graph.pack.floats("word_emb").astype(np.float16))
        rows = graph.node("Gather", [table, "input_ids"], "words.half")
        return graph.node("Cast", [rows], "words", to=TensorProto.FLOAT)

    def matrix(self, graph: Graph, groups: Groups, name: str, rows: slice) -> str:
        """A constant and its cast."""
        half = graph.constant(name + ".half", groups.floats()[rows].T.astype(np.float16))
        return graph.node("Cast", [half], name, to=TensorProto.FLOAT)


class Int8Folded(Float32):
    """The pack's own int8 groups; plain operators scale them, and constant folding runs those once.

    Only the looked-up rows of the word embeddings are ever scaled: the table stays int8 in memory.
    """

    def words(self, graph: Graph) -> str:
        """Look up int8 rows and their scales."""
        groups = graph.pack.groups("word_emb")
        table = graph.constant("words.table", groups.values)
        scales = graph.constant("words.scales", groups.scales[..., None])
        rows = graph.node("Gather", [table, "input_ids"], "words.int8")
        rows = graph.node("Cast", [rows], "words.float", to=TensorProto.FLOAT)
        scales = graph.node("Gather", [scales, "input_ids"], "words.scale")
        rows = graph.node("Mul", [rows, scales], "words.groups")
        return graph.node("Reshape", [rows, graph.integers(0, 0, -1)], "words")

    def matrix(self, graph: Graph, groups: Groups, name: str, rows: slice) -> str:
        """Int8 [groups, group, outputs] times its scales, all constant."""
        values = graph.constant(name + ".int8", groups.values[rows].transpose(1, 2, 0))
        scales = graph.constant(name + ".scales", groups.scales[rows].T[:, None, :])
        floats = graph.node("Cast", [values], name + ".float", to=TensorProto.FLOAT)
        scaled = graph.node("Mul", [floats, scales], name + ".groups")
        return graph.node(
            "Reshape", [scaled, graph.integers(-1, groups.values[rows].shape[0])], name
        )


class Int8Dequantize(Int8Folded):
    """The same with the operator made for it, which onnxruntime folds only if told to."""

    def matrix(self, graph: Graph, groups: Groups, name: str, rows: slice) -> str:
        """DequantizeLinear in blocks along the inputs."""
        outputs, _, size = groups.values[rows].shape
        values = graph.constant(name + ".int8", groups.values[rows].reshape(outputs, -1).T)
        scales = graph.constant(name + ".scales", groups.scales[rows].T)
        return graph.node("DequantizeLinear", [values, scales], name, axis=0, block_size=size)


class NBits:
    """Microsoft's operators on 8-bit blocks; ``accuracy`` 1 computes in float32, 4 in int8."""

    makes_matrices = False
    MIDDLE = 128  # the operators read unsigned numbers around this one

    def __init__(self, accuracy: int) -> None:
        self.accuracy = accuracy

    def words(self, graph: Graph) -> str:
        """GatherBlockQuantized."""
        groups = graph.pack.groups("word_emb")
        table = graph.constant(
            "words.table", self._unsigned(groups.values).reshape(len(groups.values), -1)
        )
        scales = graph.constant("words.scales", groups.scales)
        return graph.node(
            "GatherBlockQuantized", [table, "input_ids", scales], "words", domain=MICROSOFT,
            gather_axis=0, quantize_axis=1, block_size=groups.values.shape[2], bits=8,
        )  # fmt: skip

    def matrix(self, graph: Graph, groups: Groups, name: str, rows: slice) -> str:
        """There is none: the operators read the blocks."""
        raise NotImplementedError

    def linear(self, graph: Graph, name: str, value: str, rows: slice) -> str:
        """MatMulNBits."""
        groups, made = graph.pack.groups(name + ".w"), matrix_name(name, rows)
        outputs, count, size = groups.values[rows].shape
        values = graph.constant(made + ".uint8", self._unsigned(groups.values[rows]))
        scales = graph.constant(made + ".scales", groups.scales[rows])
        return graph.node(
            "MatMulNBits", [value, values, scales], made + ".product", domain=MICROSOFT,
            K=count * size, N=outputs, bits=8, block_size=size, accuracy_level=self.accuracy,
        )  # fmt: skip

    def _unsigned(self, values: np.ndarray) -> np.ndarray:
        return (values.astype(np.int16) + self.MIDDLE).astype(np.uint8)


def matrix_name(name: str, rows: slice) -> str:
    """A name for these rows of a matrix."""
    return f"{name}.w" if rows.stop is None else f"{name}.w{rows.start}"
