"""From a torch model to an ONNX file with the inputs and outputs its original is known for."""

from pathlib import Path
from typing import Any

import onnx
import torch
from specs import Spec


class Exported(torch.nn.Module):
    """The network with positional inputs and the outputs the export is known for."""

    def __init__(self, model: Any, spec: Spec, inputs: list[str]) -> None:
        super().__init__()
        self.model, self.spec, self.inputs = model, spec, inputs

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """One tensor per name in ``spec.outputs``."""
        given = dict(zip(self.inputs, values, strict=True))
        answer = self.model(**given)
        if self.spec.kind == "rerank":
            return (answer.logits,)
        hidden = answer.last_hidden_state
        made = {"sentence_embedding": pool(hidden, given["attention_mask"], self.spec)}
        return tuple(made.get(name, hidden) for name in self.spec.outputs)


def pool(hidden: torch.Tensor, mask: torch.Tensor, spec: Spec) -> torch.Tensor:
    """Pool and normalise as sentence-transformers does; last token: for unpadded texts only."""
    if spec.pooling == "cls":
        vector = hidden[:, 0]
    elif spec.pooling == "lasttoken":
        vector = hidden[:, -1]
    else:
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        vector = (hidden * weights).sum(1) / weights.sum(1)
    return torch.nn.functional.normalize(vector, dim=-1) if spec.normalize else vector


def export(model: Any, spec: Spec, file: Path, inputs: list[str]) -> None:
    """Write the ONNX file, with its weights beside it where the original has them there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    names = ["logits"] if spec.kind == "rerank" else list(spec.outputs)
    axes = {name: {0: "batch_size", 1: "sequence_length"} for name in inputs + names}
    for name in {"logits", "sentence_embedding"} & set(names):
        axes[name] = {0: "batch_size"}
    example = torch.tensor([[3, 7, 8, 2], [3, 9, 6, 2]])
    values = [torch.zeros_like(example) if name == "token_type_ids" else example for name in inputs]
    values[inputs.index("attention_mask")] = torch.ones_like(example)
    torch.onnx.export(
        Exported(model, spec, inputs).eval(),
        tuple(values),
        str(file),
        input_names=inputs,
        output_names=names,
        dynamic_axes=axes,
        opset_version=14,
        dynamo=False,
    )
    proto = onnx.load(str(file))
    shorten_names(proto.graph)
    file.unlink()
    beside = {"save_as_external_data": True, "location": f"{file.name}_data"}
    onnx.save(proto, str(file), **(beside if spec.external_data else {}))


def shorten_names(graph: Any) -> None:
    """Number what only the graph itself sees: the exporter's names are a quarter of such a file."""
    seen = {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    short: dict[str, str] = {"": ""}
    for node in graph.node:
        node.ClearField("name")
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = name if name in seen else short.setdefault(name, f"v{len(short)}")
