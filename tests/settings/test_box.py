from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.settings import ModelKind, RerankConfig
from codekernel.errors import InvalidSettings
from codekernel.indexing.index_plan import build_index_plan
from codekernel.settings.loading import check_settings_file, load_settings_file
from codekernel.settings.local_models import (
    RERANKER_MODEL,
    STATIC_MODEL,
    SUPERSEDED_MODELS,
    TRANSFORMER_MODEL,
    build_default_settings,
    get_bundled_folder,
    list_built_in_models,
)


def test_the_models_in_the_box_are_there() -> None:
    assert [model.name for model in list_built_in_models()] == [
        STATIC_MODEL,
        TRANSFORMER_MODEL,
        RERANKER_MODEL,
    ]
    for model in list_built_in_models():
        assert (model.path / "model.onnx").is_file()
        assert (model.path / "tokenizer.json").is_file()


def test_without_any_choice_the_static_model_is_used() -> None:
    selected = [
        config for config in build_default_settings().embedding_configs if config.is_selected
    ]
    assert selected[0].model_name == STATIC_MODEL


def test_without_any_choice_our_reranker_is_asked(
    document: Any, write: Callable[[Any], Path]
) -> None:
    assert build_default_settings().rerank_configs == (
        RerankConfig(RERANKER_MODEL, is_selected=True),
    )
    document["searchSettings"]["rerankConfig"]["configs"] = []
    assert (
        load_settings_file(write(document))[0].rerank_configs
        == build_default_settings().rerank_configs
    )


def test_our_reranker_can_be_switched_off(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    config = {"modelName": RERANKER_MODEL, "selected": False}
    document["searchSettings"]["rerankConfig"]["configs"] = [config]
    assert check_settings_file(write(document), **machine).rerank_configs == (
        RerankConfig(RERANKER_MODEL, is_selected=False),
    )


def test_settings_may_name_a_model_in_the_box_without_listing_it(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    document["searchSettings"]["embeddingConfig"]["configs"] = [
        {"name": "mine", "modelName": TRANSFORMER_MODEL, "inputLength": 800, "selected": True}
    ]
    settings = check_settings_file(write(document), **machine)
    assert [config.name for config in settings.embedding_configs] == ["mine"]
    assert TRANSFORMER_MODEL in {model.name for model in settings.local_models}


def test_an_embedder_in_the_box_is_no_reranker(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    document["searchSettings"]["rerankConfig"]["configs"] = [{"modelName": STATIC_MODEL}]
    with pytest.raises(InvalidSettings, match="of type embedding"):
        check_settings_file(write(document), **machine)


def test_a_users_own_model_of_the_same_name_goes_first(
    document: Any, write: Callable[[Any], Path], tmp_path: Path
) -> None:
    document["localModelManagement"]["models"].append(
        {"name": STATIC_MODEL, "path": str(tmp_path), "type": "embedding"}
    )
    settings, _ = load_settings_file(write(document))
    named = [model for model in settings.local_models if model.name == STATIC_MODEL]
    assert [(model.path, model.kind) for model in named] == [(tmp_path, ModelKind.EMBEDDING)]


@pytest.mark.parametrize("name", SUPERSEDED_MODELS)
def test_a_model_that_was_in_the_box_once_means_the_one_that_took_its_place(
    name: str, document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    config = {"name": "mine", "modelName": name, "inputLength": 800, "selected": True}
    document["searchSettings"]["embeddingConfig"]["configs"] = [config]
    settings = check_settings_file(write(document), **machine)
    assert [each.model_name for each in settings.embedding_configs] == [STATIC_MODEL]
    (planned,) = build_index_plan(settings, is_certain=True).configs
    assert planned.model == get_bundled_folder() / STATIC_MODEL


@pytest.mark.parametrize("name", SUPERSEDED_MODELS)
def test_a_users_own_model_of_such_a_name_is_the_one_that_is_meant(
    name: str, document: Any, write: Callable[[Any], Path], machine: dict[str, Any], tmp_path: Path
) -> None:
    document["localModelManagement"]["models"].append(
        {"name": name, "path": str(tmp_path / "bge-m3"), "type": "embedding"}
    )
    config = {"name": "mine", "modelName": name, "inputLength": 800, "selected": True}
    document["searchSettings"]["embeddingConfig"]["configs"] = [config]
    settings = check_settings_file(write(document), **machine)
    (planned,) = build_index_plan(settings, is_certain=True).configs
    assert planned.model == tmp_path / "bge-m3"


def test_configs_that_are_all_switched_off_stay_so(
    document: Any, write: Callable[[Any], Path]
) -> None:
    for config in document["searchSettings"]["embeddingConfig"]["configs"]:
        config["selected"] = False
    settings, _ = load_settings_file(write(document))
    assert not any(config.is_selected for config in settings.embedding_configs)
