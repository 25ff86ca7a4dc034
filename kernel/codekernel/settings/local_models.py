"""Local models: the bundled ones and the default settings that use them.

Inspection of any model folder without loading the model, and which chat model is asked.
"""

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from codekernel.domain.settings import (
    EmbeddingConfig,
    LocalModel,
    ModelKind,
    RemoteModel,
    RerankConfig,
    Settings,
)
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import InvalidModel, NetworkError
from codekernel.inference.model_folder import (
    STATIC_MODEL,
    TRANSFORMER_MODEL,
    get_bundled_folder,
    read_json_file,
    read_model_folder,
)
from codekernel.llm.providers.gguf import find_gguf, read_context_length

_BUILT_IN_KINDS = {
    STATIC_MODEL: ModelKind.EMBEDDING,
    TRANSFORMER_MODEL: ModelKind.EMBEDDING,
}

# Models bundled once; settings that name one mean its successor.
SUPERSEDED_MODELS = {
    "codekernel-static-v1": STATIC_MODEL,
    "codekernel-static-v2": STATIC_MODEL,
    "codekernel-reranker-v1": TRANSFORMER_MODEL,
}

# Characters. NDCG@10 over the 32 benchmark repositories with words, static model and the whole
# ranking: 750 gives .8903, 850 .8890, 950 .8902, all within noise; the longer, the fewer chunks
# there are to write and embed. The same for both models, so that they share their chunks.
_DEFAULT_CHUNK_SIZE_CHARS = 950

# The transformer embeds about 20 chunks per core and second: with fewer cores a repository of ten
# thousand chunks would keep the whole machine busy for minutes.
_MIN_CORES_FOR_TRANSFORMER = 4


def list_built_in_models() -> tuple[LocalModel, ...]:
    """Return the bundled models; settings may name them without listing them."""
    folder = get_bundled_folder()
    return tuple(LocalModel(name, folder / name, kind) for name, kind in _BUILT_IN_KINDS.items())


def resolve_model_name(name: str, listed: Collection[str]) -> str:
    """Return the model that settings mean by a name; the ``listed`` ones go first."""
    return name if name in listed else SUPERSEDED_MODELS.get(name, name)


def is_built_in(model: LocalModel) -> bool:
    """Whether a model is a bundled one, and not another of the same name."""
    return model.path.parent == get_bundled_folder()


def read_manifest() -> dict[str, dict[str, Any]]:
    """Read the manifest of the bundled models, by name; empty if it cannot be read."""
    try:
        content = parse_json((get_bundled_folder() / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return {entry["name"]: entry for entry in content["models"]}


def build_default_embedding_configs() -> tuple[EmbeddingConfig, ...]:
    """Return the embedding configs for settings that have none.

    The static model answers seconds after a repository is opened; the transformer joins in the
    background where the machine can afford it.
    """
    is_affordable = (os.cpu_count() or 1) >= _MIN_CORES_FOR_TRANSFORMER
    return (
        EmbeddingConfig("static", STATIC_MODEL, _DEFAULT_CHUNK_SIZE_CHARS, is_selected=True),
        EmbeddingConfig(
            "transformer", TRANSFORMER_MODEL, _DEFAULT_CHUNK_SIZE_CHARS, is_selected=is_affordable
        ),
    )


def build_default_rerank_configs() -> tuple[RerankConfig, ...]:
    """Return the rerank configs for settings that have none; used for accurate searches only."""
    return (RerankConfig(TRANSFORMER_MODEL, is_selected=True),)


def build_default_settings() -> Settings:
    """Return the settings of a first start."""
    return Settings(
        embedding_configs=build_default_embedding_configs(),
        rerank_configs=build_default_rerank_configs(),
        local_models=list_built_in_models(),
        standby_model=get_bundled_folder() / STATIC_MODEL,
        standby_reranker=get_bundled_folder() / TRANSFORMER_MODEL,
    )


# A model has a dozen files; a folder with more than this may be a whole disk.
MAX_MODEL_FILES = 1_000

_BYTES_PER_MB = 1_000_000

# What the configurations of transformers call the length of a vector.
_DIMENSION_KEYS = ("hidden_size", "dim", "d_model", "n_embd")


@dataclass(frozen=True, slots=True)
class LocalModelInfo:
    """A model and its properties; ``error`` is a sentence if it cannot be used."""

    name: str
    kind: ModelKind
    path: str
    size_mb: float
    is_built_in: bool
    dimension: int | None
    description: str
    error: str


def inspect_local_models(models: Iterable[LocalModel]) -> list[LocalModelInfo]:
    """Inspect the folder of each model."""
    shipped = read_manifest()
    return [
        _inspect_model(model, shipped.get(model.name, {}) if is_built_in(model) else {})
        for model in models
    ]


def measure_model_mb(path: Path, max_files: int = MAX_MODEL_FILES) -> float:
    """Return the size of a model in MB, with one decimal."""
    try:
        below = (file for file in path.rglob("*") if file.is_file())
        files = [path] if path.is_file() else [*islice(below, max_files)]
        return round(sum(file.stat().st_size for file in files) / _BYTES_PER_MB, 1)
    except OSError:
        return 0.0


def _inspect_model(model: LocalModel, shipped: dict[str, Any]) -> LocalModelInfo:
    if model.remote:
        return _describe_remote_model(model, model.remote)
    inspect = (
        _inspect_generation_model if model.kind is ModelKind.GENERATION else _inspect_onnx_model
    )
    try:
        (dimension, facts), problem = inspect(model), ""
    except (InvalidModel, OSError) as error:
        dimension, facts, problem = None, [], str(error)
    if shipped:
        dimension = shipped["dimensions"]
        facts = [shipped["kind"], f"reads {shipped['maxTokens']} tokens", shipped["licence"]]
    return LocalModelInfo(
        name=model.name,
        kind=model.kind,
        path=str(model.path),
        size_mb=measure_model_mb(model.path),
        is_built_in=bool(shipped),
        dimension=dimension,
        description=", ".join(facts),
        error=problem,
    )


def _describe_remote_model(model: LocalModel, remote: RemoteModel) -> LocalModelInfo:
    """Describe a server; it is not asked, for that would tell it when settings are looked at."""
    price = f"{remote.input_price:g} per million tokens" if remote.input_price else ""
    facts = ["remote", remote.model_name, price]
    return LocalModelInfo(
        name=model.name,
        kind=model.kind,
        path=remote.url,
        size_mb=0.0,
        is_built_in=False,
        dimension=None,
        description=", ".join(filter(None, facts)),
        error="",
    )


def _inspect_onnx_model(model: LocalModel) -> tuple[int | None, list[str]]:
    """Return the vector length, if any, and a description; raises InvalidModel."""
    folder = read_model_folder(model.path)
    config = read_json_file(model.path / "config.json")
    lengths = [config[key] for key in _DIMENSION_KEYS if isinstance(config.get(key), int)]
    dimension = lengths[0] if lengths and model.kind is ModelKind.EMBEDDING else None
    kind = config.get("model_type")
    facts = [kind] if isinstance(kind, str) else []
    return dimension, [*facts, f"reads {folder.max_tokens} tokens"]


def _inspect_generation_model(model: LocalModel) -> tuple[int | None, list[str]]:
    """Describe a chat model; raises InvalidModel."""
    file = find_gguf(model.path)
    context = read_context_length(file)
    return None, [file.name, *([f"reads {context} tokens"] if context else [])]


MODEL_SETUP_ADVICE = (
    "Say: codekernel models add (any provider, or a server on this machine such as Ollama). Or set"
    " OPENAI_API_KEY, with OPENAI_BASE_URL and OPENAI_MODEL for another endpoint."
)


def choose_model(settings: Settings, model_name: str | None) -> str:
    """Return the named chat model, else the first of the settings.

    Raises NetworkError, which says how to set one up, if there is none.
    """
    if model_name:
        return model_name
    names = [
        *(model.name for model in settings.generation_models),
        *(model.name for model in settings.local_models if model.kind is ModelKind.GENERATION),
    ]
    if not names:
        raise NetworkError(f"no chat model is set up. {MODEL_SETUP_ADVICE}")
    return names[0]
