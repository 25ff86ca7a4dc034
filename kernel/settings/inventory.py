"""What can be said of each local model without loading it: its size, its kind, what is wrong."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from kernel.domain.settings import LocalModel, ModelKind
from kernel.errors import InvalidModel
from kernel.settings.box import is_built_in, manifest

# A model has a dozen files. A folder with more than this is none, and may be a whole disk.
MOST_FILES = 1_000
_BYTES_PER_MB = 1_000_000
# What the configurations of transformers call the length of a vector.
_DIMENSION_KEYS = ("hidden_size", "dim", "d_model", "n_embd")


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model and what is known of it; ``trouble`` is a sentence if it cannot be used."""

    model: LocalModel
    built_in: bool
    megabytes: float
    dimension: int | None
    description: str
    trouble: str


def inventory(models: Iterable[LocalModel]) -> list[KnownModel]:
    """Look into the folder of each model; slow only where the disk is."""
    shipped = manifest()
    return [
        _known(model, shipped.get(model.name, {}) if is_built_in(model) else {}) for model in models
    ]


def megabytes(path: Path) -> float:
    """The size of a model, with one decimal."""
    try:
        files = [path] if path.is_file() else [*islice(_files(path), MOST_FILES)]
        return round(sum(file.stat().st_size for file in files) / _BYTES_PER_MB, 1)
    except OSError:
        return 0.0


def _known(model: LocalModel, shipped: dict[str, Any]) -> KnownModel:
    dimension: int | None = None
    facts: list[str] = []
    trouble = ""
    try:
        dimension, facts = _generation(model) if _answers(model) else _onnx(model)
    except (InvalidModel, OSError) as error:
        trouble = str(error)
    if shipped:
        dimension = shipped["dimensions"]
        facts = [shipped["kind"], f"reads {shipped['maxTokens']} tokens", shipped["licence"]]
    return KnownModel(
        model=model,
        built_in=bool(shipped),
        megabytes=megabytes(model.path),
        dimension=dimension,
        description=", ".join(facts),
        trouble=trouble,
    )


def _onnx(model: LocalModel) -> tuple[int | None, list[str]]:
    """The length of its vectors, if it gives any, and what its files say; raises InvalidModel."""
    from kernel.inference.folder_files import read_json  # noqa: PLC0415 - seldom needed
    from kernel.inference.model_folder import read_model_folder  # noqa: PLC0415

    folder = read_model_folder(model.path)
    config = read_json(model.path / "config.json")
    lengths = [config[key] for key in _DIMENSION_KEYS if isinstance(config.get(key), int)]
    dimension = lengths[0] if lengths and model.kind is ModelKind.EMBEDDING else None
    kind = config.get("model_type")
    facts = [kind] if isinstance(kind, str) else []
    return dimension, [*facts, f"reads {folder.max_tokens} tokens"]


def _generation(model: LocalModel) -> tuple[None, list[str]]:
    """The same for a chat model; raises InvalidModel."""
    from kernel.llm.gguf import find_gguf, trained_context  # noqa: PLC0415 - seldom needed

    file = find_gguf(model.path)
    context = trained_context(file)
    return None, [file.name, *([f"reads {context} tokens"] if context else [])]


def _answers(model: LocalModel) -> bool:
    return model.kind is ModelKind.GENERATION


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
