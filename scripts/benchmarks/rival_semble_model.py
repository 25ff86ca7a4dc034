"""Our static model in model2vec's form: ``rival_semble_model.py MODEL TARGET``.

Runs in semble's environment. Tokens that share a row in our table get a copy each, so that
model2vec looks each one up directly instead of through a mapping. ``rows`` is for our own child
only; model2vec ignores tensors that it does not know.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file


def main(source: Path, target: Path) -> None:
    """Write config.json last: a folder with one is complete."""
    graph = onnx.load(source / "model.onnx").graph
    constants = {value.name: numpy_helper.to_array(value) for value in graph.initializer}
    table = constants["values"].astype(np.float32) * constants["scales"][:, None]
    rows = constants["rows"]
    target.mkdir(parents=True, exist_ok=True)
    tensors = {"embeddings": np.ascontiguousarray(table[rows]), "rows": np.ascontiguousarray(rows)}
    save_file(tensors, target / "model.safetensors")
    shutil.copy(source / "tokenizer.json", target / "tokenizer.json")
    config = {"normalize": True, "hidden_dim": table.shape[1], "max_length": None}
    (target / "config.json").write_text(json.dumps(config), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
