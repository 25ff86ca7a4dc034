"""Writes the reranker's folder: ``cross_finish.py WORK PACK CE.pt TARGET``.

Its numbers are moved by what it says of the held-out lists, to around 0.
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

LENGTH, APART, FROZEN = 128, 3, 1
GROUP = 32
MATRICES = {"qkv": "seen", "ao": "out", "f1": "up", "f2": "down"}
NORMS = {"aln": "norm", "fln": "end"}
FILES = (
    "canonical_scores.json",
    "codekernel.json",
    "config.json",
    "model.onnx",
    "tokenizer.json",
)
ENTRY = {
    "kind": "cross-encoder",
    "dimensions": None,
    "maxTokens": QUERY_TOKENS + LENGTH,
    "licence": "Apache-2.0",
    "source": {
        "start": "granite-embedding-30m-english",
        "recipe": "scripts/train/README.md",
    },
}
CANONICAL_QUERY = "retry a request after a pause"
CANONICAL_TEXTS = (
    "net/retry.py\ndef again(send, pause):\n    sleep(pause)\n    return send()\n",
    "net/session.py\nclass Session:\n    def close(self):\n        self.socket.close()\n",
    "docs/colours.md\nRed, green and blue\n",
)
CANONICAL_DIGITS = 4


def main(work: Path, file: Path, kept: Path, target: Path) -> None:
    """Write and record it."""
    model = CrossEncoder(file, APART)
    model.load_state_dict(torch.load(kept)["model"])
    model.eval()
    pack = _learnt(granite_pack.read(file), model)
    target.mkdir(parents=True, exist_ok=True)
    head = _head(model, work)
    made = build(Graph(pack), Int8Folded(), head, APART)
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
    manifest.write_json(target / "canonical_scores.json", _canonical(model, head["middle"]))
    target = target.resolve()
    manifest.record({"name": target.name, **ENTRY}, target, FILES)


def _learnt(pack: Pack, model: CrossEncoder) -> Pack:
    """The pack with what was learnt, in groups again; the model gets what is left of it there."""
    tensors = dict(pack.tensors)
    for number in range(FROZEN, LAYERS):
        layer = model.layers[number]
        for name, part in {**MATRICES, **NORMS}.items():
            learnt = getattr(layer, part)
            weight = learnt.weight.detach().numpy()
            if name in MATRICES:
                groups = _groups(weight)
                learnt.weight.data = torch.tensor(groups.floats())
            tensors[f"l{number}.{name}.w"] = groups if name in MATRICES else weight
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
    }


def _canonical(model: CrossEncoder, middle: np.ndarray) -> dict[str, object]:
    """What torch says."""
    query = model.tokens(CANONICAL_QUERY, QUERY_TOKENS)
    with torch.no_grad():
        said = model([(query, model.tokens(text, LENGTH)) for text in CANONICAL_TEXTS]).numpy()
    shown = (said - middle).astype(float).round(CANONICAL_DIGITS).tolist()
    return {"query": CANONICAL_QUERY, "texts": CANONICAL_TEXTS, "logits": shown}


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
