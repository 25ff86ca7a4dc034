from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.settings import LocalModel, ModelKind, RerankConfig
from codekernel.errors import InvalidSettings
from codekernel.indexing.index_plan import build_index_plan
from codekernel.inference.model_folder import STATIC_MODEL, TRANSFORMER_MODEL, get_bundled_folder
from codekernel.settings.loading import check_settings_file, load_settings_file
from codekernel.settings.local_models import (
    SUPERSEDED_MODELS,
    build_default_settings,
    inspect_local_models,
    list_built_in_models,
    measure_model_mb,
    read_manifest,
)


def test_the_models_in_the_box_are_there() -> None:
    assert [model.name for model in list_built_in_models()] == [
        STATIC_MODEL,
        TRANSFORMER_MODEL,
    ]
    for model in list_built_in_models():
        assert (model.path / "model.onnx").is_file()
        assert (model.path / "tokenizer.json").is_file()


def test_without_any_choice_the_static_model_is_used() -> None:
    selected = [
        config for config in build_default_settings().embedding_configs if config.is_selected
    ]
    assert selected[0].model_name == STATIC_MODEL


def test_without_any_choice_the_transformer_reranks(
    document: Any, write: Callable[[Any], Path]
) -> None:
    assert build_default_settings().rerank_configs == (
        RerankConfig(TRANSFORMER_MODEL, is_selected=True),
    )
    document["searchSettings"]["rerankConfig"]["configs"] = []
    assert (
        load_settings_file(write(document))[0].rerank_configs
        == build_default_settings().rerank_configs
    )


@pytest.mark.parametrize("name", [TRANSFORMER_MODEL, "codekernel-reranker-v1"])
def test_reranking_can_be_switched_off_also_by_the_name_of_the_former_model(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any], name: str
) -> None:
    config = {"modelName": name, "selected": False}
    document["searchSettings"]["rerankConfig"]["configs"] = [config]
    assert check_settings_file(write(document), **machine).rerank_configs == (
        RerankConfig(TRANSFORMER_MODEL, is_selected=False),
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


def test_an_embedding_model_may_rerank_and_a_chat_model_not(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any], tmp_path: Path
) -> None:
    document["searchSettings"]["rerankConfig"]["configs"] = [{"modelName": STATIC_MODEL}]
    check_settings_file(write(document), **machine)
    chat = {"name": "chat", "path": str(tmp_path), "type": "generation"}
    document["localModelManagement"]["models"].append(chat)
    document["searchSettings"]["rerankConfig"]["configs"] = [{"modelName": "chat"}]
    with pytest.raises(InvalidSettings, match="of type rerank or embedding, but"):
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
    assert [each.model_name for each in settings.embedding_configs] == [SUPERSEDED_MODELS[name]]
    (planned,) = build_index_plan(settings, is_certain=True).configs
    assert planned.model == get_bundled_folder() / SUPERSEDED_MODELS[name]


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


FIXTURES = Path(__file__).parents[1] / "fixtures" / "models"


def test_the_models_in_the_box_are_whole_and_described() -> None:
    static, transformer = inspect_local_models(list_built_in_models())
    assert (static.name, static.dimension, static.is_built_in) == (STATIC_MODEL, 256, True)
    assert (transformer.name, transformer.dimension) == (TRANSFORMER_MODEL, 384)
    assert static.error == transformer.error == ""
    assert (
        static.description
        == f"static, reads 2048 tokens, {read_manifest()[STATIC_MODEL]['licence']}"
    )
    assert 10 < static.size_mb < 20


def test_a_model_of_the_settings_says_what_its_files_say() -> None:
    folder = FIXTURES / "bge-small-en"
    (known,) = inspect_local_models([LocalModel("mine", folder, ModelKind.EMBEDDING)])
    assert not known.is_built_in
    assert known.dimension
    assert known.description.startswith("bert, reads ")
    assert known.error == ""
    (judge,) = inspect_local_models(
        [LocalModel("r", FIXTURES / "ms-marco-MiniLM", ModelKind.RERANK)]
    )
    assert (judge.dimension, judge.error) == (None, "")


@pytest.mark.parametrize("kind", list(ModelKind))
def test_a_model_that_cannot_be_used_says_why(tmp_path: Path, kind: ModelKind) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        (known,) = inspect_local_models([LocalModel("mine", tmp_path / name, kind)])
        assert str(tmp_path / name) in known.error
        assert known.size_mb == 0


def test_a_damaged_chat_model_says_so(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    (known,) = inspect_local_models([LocalModel("mine", tmp_path, ModelKind.GENERATION)])
    assert "damaged" in known.error


def test_another_model_of_the_same_name_is_not_taken_for_ours(tmp_path: Path) -> None:
    (known,) = inspect_local_models([LocalModel(STATIC_MODEL, tmp_path, ModelKind.EMBEDDING)])
    assert not known.is_built_in
    assert known.dimension is None
    assert known.error


def test_the_size_of_a_whole_disk_is_not_asked_for(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.bin").write_bytes(b"x" * 500_000)
    assert measure_model_mb(tmp_path) == 2.5
    assert measure_model_mb(tmp_path, max_files=2) == 1.0
    assert measure_model_mb(tmp_path / "0.bin") == 0.5
