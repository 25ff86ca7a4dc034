"""The files around a model: those of sentence-transformers, and the tokenizer's settings."""

from pathlib import Path
from typing import Any

import tokenizers
from json_files import write_json
from specs import HIDDEN, Spec


def write_sentence_transformers(folder: Path, spec: Spec) -> None:
    """modules.json and what it points at, in the words of versions 2 to 5, or of version 6."""
    newest = spec.layout == "sentence-transformers-6"
    kinds = ["Transformer", "Pooling"] + (["Normalize"] if spec.normalize else [])
    rooms = {
        "Transformer": "sentence_transformers.base.modules.transformer",
        "Pooling": "sentence_transformers.sentence_transformer.modules.pooling",
        "Normalize": "sentence_transformers.base.modules.normalize",
    }
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": f"{i}_{kind}" if i else "",
            "type": f"{rooms[kind] if newest else 'sentence_transformers.models'}.{kind}",
        }
        for i, kind in enumerate(kinds)
    ]
    write_json(folder / "modules.json", modules)
    modes = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
    modes |= {"mean_sqrt_len_tokens": "", "weightedmean_tokens": "", "lasttoken": "lasttoken"}
    pooling: dict[str, Any] = {"word_embedding_dimension": HIDDEN}
    pooling |= {f"pooling_mode_{key}": mode == spec.pooling for key, mode in modes.items()}
    limit: dict[str, Any] = {"max_seq_length": spec.max_tokens, "do_lower_case": False}
    if newest:
        pooling = {"embedding_dimension": HIDDEN, "pooling_mode": spec.pooling}
        limit = {
            "transformer_task": "feature-extraction",
            "module_output_name": "token_embeddings",
        }
        names = ("module_input_name", "module_output_name")
        write_json(folder / "2_Normalize/config.json", dict.fromkeys(names, "sentence_embedding"))
    write_json(folder / "1_Pooling/config.json", {**pooling, "include_prompt": True})
    if spec.network != "qwen3":  # Qwen3-Embedding has no such file: its limit is in config.json
        write_json(folder / "sentence_bert_config.json", limit)
    about: dict[str, Any] = {"__version__": {"sentence_transformers": "6.2.0" if newest else "3.1"}}
    if spec.prompts is not None:
        about |= {"prompts": spec.prompts, "default_prompt_name": None}
    write_json(folder / "config_sentence_transformers.json", about)


def write_tokenizer_config(folder: Path, spec: Spec, config: dict[str, Any]) -> None:
    """tokenizer_config.json and special_tokens_map.json; MiniLM's limits are in the tokenizer."""
    config = {**config, "model_max_length": spec.model_max_length}
    write_json(folder / "tokenizer_config.json", config)
    special = {key: value for key, value in config.items() if key.endswith("_token") and value}
    special = {key: value for key, value in special.items() if not isinstance(value, bool)}
    write_json(folder / "special_tokens_map.json", special)
    if spec.name == "all-MiniLM-L6-v2":  # as published: cuts at 128 and pads to 128
        file = str(folder / "tokenizer.json")
        made = tokenizers.Tokenizer.from_file(file)
        made.enable_truncation(128)
        made.enable_padding(length=128, pad_id=0, pad_token="[PAD]")  # noqa: S106
        made.save(file)
