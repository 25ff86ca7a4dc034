"""A model folder as exported from the usual hubs: how its outputs become vectors or scores.

What the folder says, in this order: ``codekernel.json`` (ours, to override), the files of
sentence-transformers, the configuration of the model itself, then what is usual for its family.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from kernel.errors import InvalidModel
from kernel.inference.families import usual_prefixes
from kernel.inference.folder_files import find_onnx, fingerprint, read_json

# Beyond any model's window; files write such numbers for "no limit".
_NO_LIMIT = 1_000_000
_USUAL_MAX_TOKENS = 512
# Of the small batches that keep a query's wait short; see Turnstile.
_USUAL_TOKENS_PER_BATCH = 512


class Pooling(Enum):
    """How token vectors become one vector."""

    CLS = "cls"
    MEAN = "mean"
    LAST = "last"
    NONE = "none"  # the output is one vector per text already


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Everything there is to know about a model before it is loaded."""

    path: Path
    onnx_file: Path
    fingerprint: str
    pooling: Pooling | None  # None: the folder does not say
    normalize: bool
    query_prefix: str
    document_prefix: str
    max_tokens: int
    output: str | None
    tokens_per_batch: int
    collapse_spaces: bool  # for tokenizers that spend a token on every space of an indentation


def read_model_folder(path: Path) -> ModelFolder:
    """Read what the folder says; raises InvalidModel naming what is missing or broken."""
    override = read_json(path / "codekernel.json")
    onnx_file = find_onnx(path, override.get("onnxFile"))
    modules = _modules(path)
    prefixes = _prefixes(path)
    return ModelFolder(
        path=path,
        onnx_file=onnx_file,
        fingerprint=fingerprint(path, onnx_file),
        pooling=_pooling(path, modules, override),
        normalize=bool(override.get("normalize", "Normalize" in modules or not modules)),
        query_prefix=str(override.get("queryPrefix", prefixes[0])),
        document_prefix=str(override.get("documentPrefix", prefixes[1])),
        max_tokens=_max_tokens(path, override),
        output=override.get("output"),
        tokens_per_batch=int(override.get("tokensPerBatch", _USUAL_TOKENS_PER_BATCH)),
        collapse_spaces=bool(override.get("collapseSpaces", False)),
    )


def _modules(path: Path) -> dict[str, str]:
    """The steps of a sentence-transformers model: kind -> folder."""
    items = read_json(path / "modules.json").get("items", [])
    modules = {
        str(item.get("type", "")).rsplit(".", 1)[-1]: str(item.get("path", ""))
        for item in items
        if isinstance(item, dict)
    }
    if "Dense" in modules:
        raise InvalidModel(
            f"{path} ends in a Dense layer, which an ONNX export of the transformer alone lacks; "
            "export the whole model with its sentence_embedding output and remove modules.json"
        )
    return modules


def _pooling(path: Path, modules: dict[str, str], override: dict[str, Any]) -> Pooling | None:
    if "pooling" in override:
        return _named_pooling(path / "codekernel.json", str(override["pooling"]))
    folder = path / modules.get("Pooling", "1_Pooling")
    config = read_json(folder / "config.json")
    if not config:
        return None
    if isinstance(config.get("pooling_mode"), str):
        return _named_pooling(folder / "config.json", config["pooling_mode"])
    flags = {
        "pooling_mode_cls_token": Pooling.CLS,
        "pooling_mode_mean_tokens": Pooling.MEAN,
        "pooling_mode_lasttoken": Pooling.LAST,
    }
    chosen = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
    if len(chosen) != 1 or chosen[0] not in flags:
        raise InvalidModel(
            f"{folder / 'config.json'} asks for {' and '.join(chosen) or 'no pooling'}; "
            "codekernel knows cls_token, mean_tokens and lasttoken, one at a time"
        )
    return flags[chosen[0]]


def _named_pooling(file: Path, name: str) -> Pooling:
    names = {"lasttoken": Pooling.LAST, **{pooling.value: pooling for pooling in Pooling}}
    if name not in names:
        raise InvalidModel(f"{file} asks for the pooling {name!r}; known are {', '.join(names)}")
    return names[name]


def _prefixes(path: Path) -> tuple[str, str]:
    """What is put before queries and documents."""
    prompts = read_json(path / "config_sentence_transformers.json").get("prompts")
    if isinstance(prompts, dict) and prompts:
        document = prompts.get("document", prompts.get("passage", ""))
        return str(prompts.get("query", "")), str(document)
    config = read_json(path / "config.json")
    return usual_prefixes(f"{config.get('_name_or_path', '')} {path.name}")


def _max_tokens(path: Path, override: dict[str, Any]) -> int:
    """The smallest limit that any of the files sets."""
    config = read_json(path / "config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and "roberta" in str(config.get("model_type", "")):
        positions -= 2  # its positions begin after the padding index
    limits = [
        override.get("maxTokens"),
        read_json(path / "sentence_bert_config.json").get("max_seq_length"),
        read_json(path / "tokenizer_config.json").get("model_max_length"),
        positions,
    ]
    known = [int(limit) for limit in limits if isinstance(limit, int | float) and limit > 0]
    return min([limit for limit in known if limit < _NO_LIMIT], default=_USUAL_MAX_TOKENS)
