from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernel.domain.settings import ModelKind, RerankConfig
from kernel.errors import InvalidSettings
from kernel.indexing.plan import plan_of
from kernel.settings.box import (
    RERANKER,
    STATIC,
    SUPERSEDED,
    TRANSFORMER,
    box_folder,
    built_in_models,
    default_settings,
)
from kernel.settings.reading import check, load


def test_the_models_in_the_box_are_there() -> None:
    assert [model.name for model in built_in_models()] == [STATIC, TRANSFORMER, RERANKER]
    for model in built_in_models():
        assert (model.path / "model.onnx").is_file()
        assert (model.path / "tokenizer.json").is_file()


def test_without_any_choice_the_static_model_is_used() -> None:
    selected = [config for config in default_settings().embedding_configs if config.selected]
    assert selected[0].model_name == STATIC


def test_without_any_choice_our_reranker_is_asked(
    document: Any, write: Callable[[Any], Path]
) -> None:
    assert default_settings().rerank_configs == (RerankConfig(RERANKER, selected=True),)
    document["searchSettings"]["rerankConfig"]["configs"] = []
    assert load(write(document))[0].rerank_configs == default_settings().rerank_configs


def test_our_reranker_can_be_switched_off(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    config = {"modelName": RERANKER, "selected": False}
    document["searchSettings"]["rerankConfig"]["configs"] = [config]
    assert check(write(document), **machine).rerank_configs == (
        RerankConfig(RERANKER, selected=False),
    )


def test_settings_may_name_a_model_in_the_box_without_listing_it(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    document["searchSettings"]["embeddingConfig"]["configs"] = [
        {"name": "mine", "modelName": TRANSFORMER, "inputLength": 800, "selected": True}
    ]
    settings = check(write(document), **machine)
    assert [config.name for config in settings.embedding_configs] == ["mine"]
    assert TRANSFORMER in {model.name for model in settings.local_models}


def test_an_embedder_in_the_box_is_no_reranker(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    document["searchSettings"]["rerankConfig"]["configs"] = [{"modelName": STATIC}]
    with pytest.raises(InvalidSettings, match="of type embedding"):
        check(write(document), **machine)


def test_a_users_own_model_of_the_same_name_goes_first(
    document: Any, write: Callable[[Any], Path], tmp_path: Path
) -> None:
    document["localModelManagement"]["models"].append(
        {"name": STATIC, "path": str(tmp_path), "type": "embedding"}
    )
    settings, _ = load(write(document))
    named = [model for model in settings.local_models if model.name == STATIC]
    assert [(model.path, model.kind) for model in named] == [(tmp_path, ModelKind.EMBEDDING)]


@pytest.mark.parametrize("name", SUPERSEDED)
def test_a_model_that_was_in_the_box_once_means_the_one_that_took_its_place(
    name: str, document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    config = {"name": "mine", "modelName": name, "inputLength": 800, "selected": True}
    document["searchSettings"]["embeddingConfig"]["configs"] = [config]
    settings = check(write(document), **machine)
    assert [each.model_name for each in settings.embedding_configs] == [STATIC]
    (planned,) = plan_of(settings, certain=True).configs
    assert planned.model == box_folder() / STATIC


@pytest.mark.parametrize("name", SUPERSEDED)
def test_a_users_own_model_of_such_a_name_is_the_one_that_is_meant(
    name: str, document: Any, write: Callable[[Any], Path], machine: dict[str, Any], tmp_path: Path
) -> None:
    document["localModelManagement"]["models"].append(
        {"name": name, "path": str(tmp_path / "bge-m3"), "type": "embedding"}
    )
    config = {"name": "mine", "modelName": name, "inputLength": 800, "selected": True}
    document["searchSettings"]["embeddingConfig"]["configs"] = [config]
    settings = check(write(document), **machine)
    (planned,) = plan_of(settings, certain=True).configs
    assert planned.model == tmp_path / "bge-m3"


def test_configs_that_are_all_switched_off_stay_so(
    document: Any, write: Callable[[Any], Path]
) -> None:
    for config in document["searchSettings"]["embeddingConfig"]["configs"]:
        config["selected"] = False
    settings, _ = load(write(document))
    assert not any(config.selected for config in settings.embedding_configs)
