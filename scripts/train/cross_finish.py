"""Writes the reranker's folder: ``cross_finish.py WORK PACK CE.pt TARGET``.

Its numbers are moved and scaled by what it says of the held-out lists.
"""

import dataclasses
import json
import sys
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import granite_pack
import manifest
import numpy as np
import onnx
import torch
from cross_encoder import LAYERS, QUERY_TOKENS, CrossEncoder
from cross_graph import OUTPUT, build
from cross_train import questions
from granite_forms import Int8Folded
from granite_graph import Graph
from granite_pack import Groups, Pack

LENGTH, APART = 128, 3
GROUP = 32
MATRICES = {"qkv": "seen", "ao": "out", "f1": "up", "f2": "down"}
NORMS = {"aln": "norm", "fln": "end"}
STRAIGHT = 3.0  # in so many deviations the sigmoid is to be nearly straight
FILES = ("codekernel.json", "config.json", "model.onnx", "tokenizer.json")


def main(work: Path, file: Path, kept: Path, target: Path) -> None:
    """Write and record it."""
    model = CrossEncoder(file, APART)
    model.load_state_dict(torch.load(kept)["model"])
    model.eval()
    pack = _learnt(granite_pack.read(file), model)
    target.mkdir(parents=True, exist_ok=True)
    made = build(Graph(pack), Int8Folded(), _head(model, work), APART)
    onnx.checker.check_model(made)
    (target / "model.onnx").write_bytes(made.SerializeToString(deterministic=True))
    (target / "tokenizer.json").write_text(_tokenizer(pack), encoding="utf-8")
    longest = QUERY_TOKENS + LENGTH
    manifest.write_json(
        target / "codekernel.json",
        {"maxTokens": longest, "output": OUTPUT, "collapseSpaces": True},
    )
    manifest.write_json(
        target / "config.json",
        {"architectures": ["CrossEncoder"], "model_type": "roberta", "num_labels": 1},
    )


def _learnt(pack: Pack, model: CrossEncoder) -> Pack:
    """The pack with what was learnt, in groups again."""
    tensors = dict(pack.tensors)
    for number in range(LAYERS):
        layer = model.layers[number]
        for name, part in {**MATRICES, **NORMS}.items():
            learnt = getattr(layer, part)
            weight = learnt.weight.detach().numpy()
            tensors[f"l{number}.{name}.w"] = _groups(weight) if name in MATRICES else weight
            tensors[f"l{number}.{name}.b"] = learnt.bias.detach().numpy()
    return dataclasses.replace(pack, tensors=tensors)


def _groups(matrix: np.ndarray) -> Groups:
    parts = matrix.reshape(len(matrix), -1, GROUP)
    scales = np.maximum(np.abs(parts).max(-1), 1e-8) / 127
    values = np.rint(parts / scales[..., None]).astype(np.int8)
    return Groups(values, scales.astype(np.float32))


def _head(model: CrossEncoder, work: Path) -> dict[str, np.ndarray]:
    _, lists = questions(work / "lists.jsonl", model, LENGTH)
    with torch.no_grad():
        said = torch.cat([model([(one.query, it) for it in one.texts]) for one in lists]).numpy()
    weights = {name: value.detach().numpy() for name, value in model.head.state_dict().items()}
    return {
        **weights,
        "mix": model.mix.detach().numpy(),
        "middle": said.mean(keepdims=True),
        "spread": said.std(keepdims=True) / (2 / STRAIGHT),
    }


def _tokenizer(pack: Pack) -> str:
    """Granite's own, reading a pair as query and text with a beginning each."""
    content = json.loads(pack.tokenizer)
    ends = {
        name: {"id": name, "ids": [number], "tokens": [name]}
        for number, name in ((0, "<s>"), (2, "</s>"))
    }
    pair = [
        piece
        for side, kind in (("A", 0), ("B", 1))
        for piece in (
            {"SpecialToken": {"id": "<s>", "type_id": kind}},
            {"Sequence": {"id": side, "type_id": kind}},
            {"SpecialToken": {"id": "</s>", "type_id": kind}},
        )
    ]
    content["post_processor"] = {
        "type": "TemplateProcessing", "single": pair[:3], "pair": pair, "special_tokens": ends,
    }  # fmt: skip
    return json.dumps(content, ensure_ascii=False)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
