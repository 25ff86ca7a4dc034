"""``codekernel models``: what is installed, what each is for, and whether it is whole."""

import hashlib
import os
from pathlib import Path
from typing import Any

from kernel.cli.search_streams import print_line
from kernel.domain.settings import LocalModel, Settings
from kernel.errors import InvalidModel
from kernel.inference.model_folder import read_model_folder
from kernel.settings.box import is_built_in, manifest
from kernel.settings.inventory import megabytes
from kernel.settings.reading import load
from kernel.storage.user_data import open_user_data


def models(user_data_argument: str | None) -> int:
    """Print each model of the settings; 0 if all can be used, 1 if one cannot."""
    settings, _ = load(open_user_data(user_data_argument, os.environ).settings_file)
    shipped = manifest()
    problems = 0
    for model in settings.local_models:
        trouble = _trouble(model, shipped.get(model.name, {}))
        problems += bool(trouble)
        print_line(
            f"{model.name}  {model.kind.value}, {megabytes(model.path):.0f} MB"
            f"{_use(model, settings)}"
        )
        print_line(f"    {model.path}")
        for line in [*_facts(model, shipped.get(model.name, {})), *trouble]:
            print_line(f"    {line}")
    return 1 if problems else 0


def _use(model: LocalModel, settings: Settings) -> str:
    chosen = [config for config in settings.embedding_configs if config.model_name == model.name]
    names = [config.name for config in chosen if config.selected]
    names += [
        "rerank"
        for config in settings.rerank_configs
        if config.model_name == model.name and config.selected
    ]
    return f", used by {', '.join(names)}" if names else ", not used"


def _facts(model: LocalModel, entry: dict[str, Any]) -> list[str]:
    if not entry or not is_built_in(model):
        return []
    size = [f"{entry['dimensions']} dimensions"] if entry["dimensions"] else []
    return [", ".join([*size, entry["licence"], "comes with codekernel"])]


def _trouble(model: LocalModel, entry: dict[str, Any]) -> list[str]:
    """What keeps the model from being used."""
    try:
        read_model_folder(model.path)
    except InvalidModel as error:
        return [f"PROBLEM: {error}"]
    if not is_built_in(model):
        return []
    changed = [
        name
        for name, digest in entry.get("files", {}).items()
        if _digest(model.path / name) != digest
    ]
    return [f"PROBLEM: {name} is not the file that was shipped" for name in changed]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
