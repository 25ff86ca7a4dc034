import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from codekernel.domain.settings import (
    EmbeddingConfig,
    GenerationModel,
    LocalModel,
    ModelKind,
    Performance,
    RerankConfig,
    Settings,
)
from codekernel.errors import InvalidSettings
from codekernel.inference.model_folder import STATIC_MODEL, TRANSFORMER_MODEL, get_bundled_folder
from codekernel.settings.loading import (
    MAX_SETTINGS_FILE_BYTES,
    check_settings_file,
    convert_to_file,
    convert_to_settings,
    has_explicit_index_settings,
    list_unmet_requirements,
    load_settings_file,
)
from codekernel.settings.local_models import build_default_settings, list_built_in_models

EXAMPLE = Path(__file__).parents[2] / "userData.example" / "settings.json"


def test_a_valid_file_becomes_settings(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any], tmp_path: Path
) -> None:
    expected = Settings(
        search_limit=10,
        embedding_configs=(
            EmbeddingConfig("m3-512", "bge-m3", 512, is_selected=True),
            EmbeddingConfig("m3-1024", "bge-m3", 1024, is_selected=True),
        ),
        rerank_configs=(
            RerankConfig("reranker", is_selected=True),
            RerankConfig("reranker-2", is_selected=False),
        ),
        local_models=(
            LocalModel("bge-m3", tmp_path / "bge-m3", ModelKind.EMBEDDING, 2200),
            LocalModel("bge-small", tmp_path / "bge-small", ModelKind.EMBEDDING, 2200),
            LocalModel("reranker", tmp_path / "reranker", ModelKind.RERANK, 2200),
            LocalModel("reranker-2", tmp_path / "reranker-2", ModelKind.RERANK, 2200),
            *list_built_in_models(),
        ),
        generation_models=(
            GenerationModel(
                "deepseek",
                "deepseek-chat",
                "https://api.deepseek.com/v1/chat/completions",
                needs_key=True,
            ),
            GenerationModel("local", "qwen", "", needs_key=False),
        ),
        history_length=1000,
        performance=Performance(),
        standby_model=get_bundled_folder() / STATIC_MODEL,
        standby_reranker=get_bundled_folder() / TRANSFORMER_MODEL,
    )
    path = write(document)
    assert check_settings_file(path, **machine) == expected
    assert load_settings_file(path) == (expected, [])


def test_a_missing_file_is_named_with_its_author(tmp_path: Path, machine: dict[str, Any]) -> None:
    path = tmp_path / "settings-modified.json"
    with pytest.raises(InvalidSettings) as caught:
        check_settings_file(path, **machine)
    assert str(caught.value) == (
        f"Failed in checking settings: there is no file {path},"
        " which the front end should have written"
    )


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path, machine: dict[str, Any]) -> None:
    path = tmp_path / "settings.json"
    path.mkdir()
    with pytest.raises(InvalidSettings, match="it is not a file"):
        check_settings_file(path, **machine)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_place_of_the_file_does_not_block(
    tmp_path: Path, machine: dict[str, Any]
) -> None:
    path = tmp_path / "settings.json"
    os.mkfifo(path)
    with pytest.raises(InvalidSettings, match="it is not a file"):
        check_settings_file(path, **machine)


def test_a_path_that_cannot_be_read_says_why(tmp_path: Path, machine: dict[str, Any]) -> None:
    (tmp_path / "file").write_bytes(b"")
    path = tmp_path / "file" / ("x" * 5000)
    with pytest.raises(InvalidSettings, match=r"cannot read .*: \w+"):
        check_settings_file(path, **machine)


def test_a_file_beyond_reason_is_refused(
    write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    with pytest.raises(InvalidSettings, match="larger than"):
        check_settings_file(write(b" " * (MAX_SETTINGS_FILE_BYTES + 1)), **machine)


def test_a_syntax_error_names_the_file_and_the_place(
    write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    with pytest.raises(InvalidSettings) as caught:
        check_settings_file(write(b'{\n  "searchSettings": ]\n}'), **machine)
    assert str(caught.value) == (
        "Failed in checking settings: settings.json: line 2, column 21: expected a value"
    )


def test_start_up_without_a_file_uses_the_defaults(tmp_path: Path) -> None:
    settings, (warning,) = load_settings_file(tmp_path / "settings.json")
    assert settings == build_default_settings()
    assert warning.startswith(f"there is no file {tmp_path / 'settings.json'}")
    assert warning.endswith("the default settings are used")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xff", b'{"a":' * 100_000, b"[]"])
def test_start_up_with_a_broken_file_uses_the_defaults(
    write: Callable[[Any], Path], content: bytes
) -> None:
    settings, (warning,) = load_settings_file(write(content))
    assert settings == build_default_settings()
    assert warning.startswith("settings.json: ")
    assert warning.endswith("the default settings are used")


def test_start_up_with_a_broken_rule_uses_the_defaults_of_that_section(
    document: Any, write: Callable[[Any], Path]
) -> None:
    whole, _ = load_settings_file(write(document))
    document["searchSettings"]["searchLimit"] = 0
    document["performance"]["maxThreads"] = -1
    path = write(document)
    settings, warnings = load_settings_file(path)
    defaults = build_default_settings()
    assert settings.search_limit == defaults.search_limit
    assert settings.embedding_configs == defaults.embedding_configs
    assert settings.performance == defaults.performance
    assert settings.generation_models == whole.generation_models
    assert settings.local_models == whole.local_models
    assert warnings == [
        f"settings.json: {reason}; the defaults of {reason.partition('.')[0]} are used"
        for reason in (
            "searchSettings.searchLimit must be at least 1, got 0",
            "performance.maxThreads must be at least 0, got -1",
        )
    ]
    assert not has_explicit_index_settings(path)


def test_a_section_that_refers_to_a_broken_one_goes_with_it(
    document: Any, write: Callable[[Any], Path]
) -> None:
    document["localModelManagement"] = "none"
    settings, warnings = load_settings_file(write(document))
    assert len(warnings) == 2
    assert settings.embedding_configs == build_default_settings().embedding_configs
    assert settings.generation_models[0].name == "deepseek"


@pytest.mark.parametrize(
    "name", ["searchSettings", "localModelManagement", "conversationSettings", "performance"]
)
def test_start_up_without_a_section_keeps_the_others_and_deletes_no_index(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any], name: str
) -> None:
    document["searchSettings"]["embeddingConfig"]["configs"] = []
    document["searchSettings"]["rerankConfig"]["configs"] = []
    document["searchSettings"]["searchLimit"] = 7
    document["performance"]["maxThreads"] = 3
    del document[name]
    path = write(document)
    settings, warnings = load_settings_file(path)
    assert warnings == []
    assert check_settings_file(path, **machine) == settings
    defaults = build_default_settings()
    assert settings.search_limit == (10 if name == "searchSettings" else 7)
    assert settings.performance.max_threads == (0 if name == "performance" else 3)
    assert len(settings.generation_models) == (0 if name == "conversationSettings" else 2)
    is_default = settings.local_models == defaults.local_models
    assert is_default is (name == "localModelManagement")
    assert has_explicit_index_settings(path) is (name in {"conversationSettings", "performance"})


def test_the_example_is_valid_on_any_machine(machine: dict[str, Any]) -> None:
    machine["has_key"] = lambda _name: False
    settings, warnings = load_settings_file(EXAMPLE)
    assert warnings == list_unmet_requirements(EXAMPLE, **machine) == []
    assert check_settings_file(EXAMPLE, **machine) == settings
    assert settings.generation_models == (
        GenerationModel(
            "deepseek",
            "deepseek-chat",
            "https://api.deepseek.com/v1/chat/completions",
            needs_key=False,
        ),
    )
    assert settings.local_models == list_built_in_models()
    assert settings.embedding_configs == build_default_settings().embedding_configs


def written(settings: Any) -> Any:
    return json.loads(msgspec.json.encode(convert_to_file(settings)))


def test_settings_that_are_shown_and_saved_again_are_the_same(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    document["conversationSettings"] |= {"maxRounds": 5, "summarizeHistory": True}
    document["conversationSettings"]["generationModel"][0] |= {
        "inputPrice": 0.5,
        "outputPrice": 2.0,
        "contextTokens": 64_000,
    }
    document["performance"]["pauseOnBattery"] = True
    settings = check_settings_file(write(document), **machine)
    shown = written(settings)
    assert check_settings_file(write(shown), **machine) == settings
    assert shown["localModelManagement"] == document["localModelManagement"]
    assert shown["searchSettings"] == document["searchSettings"]


def test_defaults_are_filled_in_and_models_in_the_box_are_not_listed() -> None:
    shown = written(build_default_settings())
    assert shown["localModelManagement"]["models"] == []
    configs = shown["searchSettings"]["embeddingConfig"]["configs"]
    assert configs[0]["modelName"] == STATIC_MODEL
    assert shown["conversationSettings"]["maxRounds"] == 3
    assert (
        convert_to_settings(convert_to_file(build_default_settings())) == build_default_settings()
    )
