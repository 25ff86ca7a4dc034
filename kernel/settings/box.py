"""The models that come with codekernel, and the settings that use them when nobody has chosen."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from kernel.domain.safe_json import parse_json
from kernel.domain.settings import (
    EmbeddingConfig,
    LocalModel,
    ModelKind,
    RerankConfig,
    Settings,
)

STATIC = "codekernel-static-v2"
TRANSFORMER = "granite-embedding-30m-english"
RERANKER = "codekernel-reranker-v1"
# Models that were in the box once; settings that name one mean the one that took its place.
SUPERSEDED = {"codekernel-static-v1": STATIC}

_PACKAGE = Path(__file__).parents[1]

# Characters. NDCG@10 over the 32 benchmark repositories with words, static model and the whole
# ranking: 750 gives .8903, 850 .8890, 950 .8902, all within noise; the longer, the fewer chunks
# there are to cut, write and embed. The same for both models, so that they share their chunks.
_INPUT_LENGTH = 950
# The transformer embeds about 20 chunks per core and second: with fewer cores a repository of ten
# thousand chunks would keep the whole machine busy for minutes.
_CORES_FOR_TRANSFORMER = 4


def box_folder() -> Path:
    """Where the models lie: inside an installed package, or beside it in a checkout."""
    installed = _PACKAGE / "box"
    return installed if installed.is_dir() else _PACKAGE.parent / "models"


def built_in_models() -> tuple[LocalModel, ...]:
    """The models in the box; settings may name them without listing them."""
    kinds = {
        STATIC: ModelKind.EMBEDDING,
        TRANSFORMER: ModelKind.EMBEDDING,
        RERANKER: ModelKind.RERANK,
    }
    return tuple(LocalModel(name, box_folder() / name, kind) for name, kind in kinds.items())


def model_meant(name: str, listed: Collection[str]) -> str:
    """The model that settings mean by a name; their own models, ``listed``, go first."""
    return name if name in listed else SUPERSEDED.get(name, name)


def is_built_in(model: LocalModel) -> bool:
    """Whether a model is one of those, and not another of the same name."""
    return model.path.parent == box_folder()


def manifest() -> dict[str, dict[str, Any]]:
    """What is written down of the models in the box, by name; empty if that cannot be read."""
    try:
        content = parse_json((box_folder() / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return {entry["name"]: entry for entry in content["models"]}


def default_configs() -> tuple[EmbeddingConfig, ...]:
    """Used as long as the settings name no embedding config at all.

    The static model answers seconds after a repository is opened; the transformer joins in the
    background where the machine can afford it.
    """
    affordable = (os.cpu_count() or 1) >= _CORES_FOR_TRANSFORMER
    return (
        EmbeddingConfig("static", STATIC, _INPUT_LENGTH, selected=True),
        EmbeddingConfig("transformer", TRANSFORMER, _INPUT_LENGTH, selected=affordable),
    )


def default_rerank_configs() -> tuple[RerankConfig, ...]:
    """Used as long as the settings name no reranker at all; only who asks for accuracy waits."""
    return (RerankConfig(RERANKER, selected=True),)


def default_settings() -> Settings:
    """What a first start uses."""
    return Settings(
        embedding_configs=default_configs(),
        rerank_configs=default_rerank_configs(),
        local_models=built_in_models(),
    )
