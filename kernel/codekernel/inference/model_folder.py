"""Read a model folder: its ONNX file, configuration and fingerprint.

codekernel.json comes before the files of sentence-transformers, then the model's own configuration,
then the defaults of its family.
"""

import hashlib
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import InvalidModel

STATIC_MODEL = "codekernel-static-v3"

TRANSFORMER_MODEL = "granite-embedding-30m-english"

_PACKAGE = Path(__file__).parents[1]

# From the model cards of the families; their folders often lack the prompts.
_FAMILY_PREFIXES: tuple[tuple[str, str, str], ...] = (
    (r"\be5\b|[-_/]e5[-_]", "query: ", "passage: "),
    (r"nomic-embed", "search_query: ", "search_document: "),
    (r"arctic-embed", "Represent this sentence for searching relevant passages: ", ""),
)

# Full precision first: on a CPU the smaller forms are seldom faster and often worse.
_PREFERRED_ONNX_FILES = (
    "model.onnx",
    "model_optimized.onnx",
    "model_fp16.onnx",
    "model_quantized.onnx",
)

# Hashing gigabytes at every start would take longer than loading them. Training changes every
# weight, so a few dozen samples of each file tell two models apart.
_MAX_SAMPLES = 32

_SAMPLE_BYTES = 64 * 1024


def get_bundled_folder() -> Path:
    """Return the folder of the bundled models, in an installed package or in a checkout."""
    installed = _PACKAGE / "box"
    return installed if installed.is_dir() else _PACKAGE.parents[1] / "models"


def find_onnx_file(folder: Path, file_name: str | None) -> Path:
    """Return the model's file: the one named, else model.onnx, else one in onnx/."""
    if not folder.is_dir():
        raise InvalidModel(f"there is no model folder {folder}")
    if file_name is not None:
        return require_not_empty(folder / file_name)
    for place in (folder, folder / "onnx"):
        found = {path.name: path for path in sorted(place.glob("*.onnx"))}
        for name in (*_PREFERRED_ONNX_FILES, *found):
            if name in found:
                return require_not_empty(found[name])
    raise InvalidModel(
        f"{folder} is not a model: it has neither model.onnx nor onnx/model.onnx; "
        "export the model to ONNX into this folder"
    )


def read_json_file(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; empty if there is no such file."""
    try:
        content = parse_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidModel(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidModel(f"{path} is not valid JSON") from error
    if isinstance(content, list):  # modules.json is a list
        return {"items": content}
    if not isinstance(content, dict):
        raise InvalidModel(f"{path} does not hold a JSON object")
    return content


def compute_fingerprint(folder: Path, onnx_file: Path) -> str:
    """Return a hash that changes whenever the vectors of this model would change."""
    beside = [onnx_file, *sorted(onnx_file.parent.glob(f"{onnx_file.name}?data"))]
    texts = sorted({*folder.glob("*.json"), *folder.glob("*/config.json"), *folder.glob("*.model")})
    texts += [path for path in (folder / "vocab.txt", folder / "merges.txt") if path.exists()]
    files = (*beside, *(path for path in texts if path.name != "expected.json"))
    try:
        found = [path.stat() for path in files]
    except OSError as error:
        raise InvalidModel(f"{error.filename} cannot be read: {error.strerror}") from error
    signature = tuple((each.st_ino, each.st_size, each.st_mtime_ns) for each in found)
    return _hash_files(folder, files, signature)


# Each repository that is opened asks for its model: 15 ms for the one in the box.
@lru_cache(maxsize=16)
def _hash_files(
    folder: Path, files: tuple[Path, ...], _signature: tuple[tuple[int, int, int], ...]
) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(folder).as_posix().encode())
        _hash_samples(path, digest)
    return digest.hexdigest()


def _hash_samples(path: Path, digest: "hashlib._Hash") -> None:
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            digest.update(str(size).encode())
            step = max(_SAMPLE_BYTES, size // _MAX_SAMPLES)
            for start in range(0, size, step):
                file.seek(start)
                digest.update(file.read(_SAMPLE_BYTES))
    except OSError as error:
        raise InvalidModel(f"{path} cannot be read: {error.strerror}") from error


def require_not_empty(path: Path) -> Path:
    """Return the path; raises InvalidModel if there is no such file or nothing in it."""
    if not path.is_file():
        raise InvalidModel(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise InvalidModel(f"{path} is empty; the download or copy did not finish")
    return path


# Beyond any model's window; files write such numbers for "no limit".
_UNLIMITED_TOKENS = 1_000_000

_DEFAULT_MAX_TOKENS = 512

# Small batches keep a query's wait short; see PrioritySemaphore.
_DEFAULT_BATCH_SIZE_TOKENS = 512


# What the families of transformers call it; a static model has none.
_LAYER_COUNTS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")


class Pooling(Enum):
    """How token vectors become one vector."""

    CLS = "cls"
    MEAN = "mean"
    LAST = "last"
    NONE = "none"  # the output is one vector per text already


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What is known of a model before it is loaded."""

    path: Path
    onnx_file: Path
    fingerprint: str
    pooling: Pooling | None  # None: the folder does not say
    normalize: bool
    query_prefix: str
    document_prefix: str
    max_tokens: int
    output_name: str | None
    batch_size_tokens: int
    collapse_spaces: bool  # for tokenizers that spend a token on every space of an indentation
    is_contextual: bool  # a transformer; a static model, or one of an unknown kind, is not


def read_model_folder(path: Path) -> ModelFolder:
    """Read a model folder; raises InvalidModel naming what is missing or broken."""
    override = read_json_file(path / "codekernel.json")
    onnx_file = find_onnx_file(path, override.get("onnxFile"))
    modules, prefixes = _read_modules(path), _read_prefixes(path)
    return ModelFolder(
        path=path,
        onnx_file=onnx_file,
        fingerprint=compute_fingerprint(path, onnx_file),
        pooling=_read_pooling(path, modules, override),
        normalize=bool(override.get("normalize", "Normalize" in modules or not modules)),
        query_prefix=str(override.get("queryPrefix", prefixes[0])),
        document_prefix=str(override.get("documentPrefix", prefixes[1])),
        max_tokens=_read_max_tokens(path, override),
        output_name=override.get("output"),
        batch_size_tokens=int(override.get("tokensPerBatch", _DEFAULT_BATCH_SIZE_TOKENS)),
        collapse_spaces=bool(override.get("collapseSpaces", False)),
        is_contextual=_has_layers(read_json_file(path / "config.json")),
    )


def _has_layers(config: dict[str, Any]) -> bool:
    """Return whether a model's own configuration counts the layers of a transformer."""
    counts = [config.get(key) for key in _LAYER_COUNTS]
    return any(isinstance(count, int) and count > 0 for count in counts)


def _read_modules(path: Path) -> dict[str, str]:
    """Return the modules of a sentence-transformers model: type -> folder."""
    items = read_json_file(path / "modules.json").get("items", [])
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


def _read_pooling(path: Path, modules: dict[str, str], override: dict[str, Any]) -> Pooling | None:
    if "pooling" in override:
        return _parse_pooling(path / "codekernel.json", str(override["pooling"]))
    folder = path / modules.get("Pooling", "1_Pooling")
    config = read_json_file(folder / "config.json")
    if not config:
        return None
    if isinstance(config.get("pooling_mode"), str):
        return _parse_pooling(folder / "config.json", config["pooling_mode"])
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


def _parse_pooling(file: Path, name: str) -> Pooling:
    names = {"lasttoken": Pooling.LAST, **{pooling.value: pooling for pooling in Pooling}}
    if name not in names:
        raise InvalidModel(f"{file} asks for the pooling {name!r}; known are {', '.join(names)}")
    return names[name]


def _read_prefixes(path: Path) -> tuple[str, str]:
    """Return the prefixes of queries and documents."""
    prompts = read_json_file(path / "config_sentence_transformers.json").get("prompts")
    if isinstance(prompts, dict) and prompts:
        document = prompts.get("document", prompts.get("passage", ""))
        return str(prompts.get("query", "")), str(document)
    return find_family_prefixes(
        f"{read_json_file(path / 'config.json').get('_name_or_path', '')} {path.name}"
    )


def find_family_prefixes(name: str) -> tuple[str, str]:
    """Return the prefixes of queries and documents that a model of this name needs."""
    found = (each for each in _FAMILY_PREFIXES if re.search(each[0], name, re.IGNORECASE))
    _, query, document = next(found, ("", "", ""))
    return query, document


def _read_max_tokens(path: Path, override: dict[str, Any]) -> int:
    """Return the smallest limit that any of the files sets."""
    config = read_json_file(path / "config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and "roberta" in str(config.get("model_type", "")):
        positions -= 2  # its positions begin after the padding index
    limits = [
        override.get("maxTokens"),
        read_json_file(path / "sentence_bert_config.json").get("max_seq_length"),
        read_json_file(path / "tokenizer_config.json").get("model_max_length"),
        positions,
    ]
    known = [int(limit) for limit in limits if isinstance(limit, int | float) and limit > 0]
    return min([limit for limit in known if limit < _UNLIMITED_TOKENS], default=_DEFAULT_MAX_TOKENS)


FAIRSEQ_FILE = "sentencepiece.bpe.model"

SENTENCEPIECE_FILES = (FAIRSEQ_FILE, "spiece.model", "tokenizer.model", "sentencepiece.model")

TOKENIZER_JSON, WORDPIECE_FILES = ("tokenizer.json",), ("vocab.txt",)

BYTE_LEVEL_FILES = ("vocab.json", "merges.txt")

# The first kind that is complete is the one that is read.
_TOKENIZER_KINDS: list[tuple[str, ...]] = [
    TOKENIZER_JSON,
    *((name,) for name in SENTENCEPIECE_FILES),
    WORDPIECE_FILES,
    BYTE_LEVEL_FILES,
]


def check_model_files(folder: Path) -> None:
    """Raise InvalidModel if a file of a model or of its tokenizer is missing or empty."""
    read_model_folder(folder)
    for name in find_tokenizer_files(folder):
        require_not_empty(folder / name)


def find_tokenizer_files(folder: Path) -> tuple[str, ...]:
    """Return the names of the tokenizer's files. Raises InvalidModel if there is none."""
    for names in _TOKENIZER_KINDS:
        if all((folder / name).is_file() for name in names):
            return names
    known = ", ".join(map(" + ".join, _TOKENIZER_KINDS))
    raise InvalidModel(f"{folder} has no tokenizer; it needs one of: {known}")
