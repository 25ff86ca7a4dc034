from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from codekernel.domain.settings import Hardware
from codekernel.errors import InvalidSettings, VaultUnavailable
from codekernel.settings.loading import (
    check_settings_file,
    list_unmet_requirements,
    load_settings_file,
)


def closed_vault(_name: str) -> NoReturn:
    raise VaultUnavailable("the vault cannot be opened")


def lost_driver() -> NoReturn:
    raise OSError("the driver does not answer")


def without_folder(document: Any) -> str:
    model = document["localModelManagement"]["models"][2]
    model["path"] += "-unplugged"
    return f"localModelManagement.models[2].path: there is no folder {model['path']}"


def with_a_file_for_a_folder(document: Any) -> str:
    model = document["localModelManagement"]["models"][2]
    model["path"] += ".txt"
    Path(model["path"]).write_text("no folder", encoding="utf-8")
    return f"localModelManagement.models[2].path: there is no folder {model['path']}"


def with_an_endless_path(document: Any) -> str:
    model = document["localModelManagement"]["models"][2]
    model["path"] += "x" * 5000
    return "localModelManagement.models[2].path: "


def with_cuda(document: Any) -> str:
    document["performance"]["useCuda"] = True
    return "performance.useCuda: CUDA is not available on this machine"


def with_coreml(document: Any) -> str:
    document["performance"]["useCoreML"] = True
    return "performance.useCoreML: CoreML is not available on this machine"


CIRCUMSTANCES = [
    without_folder,
    with_a_file_for_a_folder,
    with_an_endless_path,
    with_cuda,
    with_coreml,
]


@pytest.mark.parametrize("worsen", CIRCUMSTANCES)
def test_a_check_refuses_what_the_machine_does_not_offer(
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    worsen: Callable[[Any], str],
) -> None:
    said = worsen(document)
    with pytest.raises(InvalidSettings) as caught:
        check_settings_file(write(document), **machine)
    assert str(caught.value).startswith(f"Failed in checking settings: {said}")


@pytest.mark.parametrize("worsen", CIRCUMSTANCES)
def test_start_up_keeps_the_settings_and_warns(
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    worsen: Callable[[Any], str],
) -> None:
    said = worsen(document)
    path = write(document)
    settings, warnings = load_settings_file(path)
    (warning,) = list_unmet_requirements(path, **machine)
    assert warnings == []
    assert warning.startswith(f"settings.json: {said}")
    assert [config.name for config in settings.embedding_configs] == ["m3-512", "m3-1024"]


def test_a_promised_key_must_be_stored_before_the_check(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    asked: list[str] = []
    machine["has_key"] = asked.append  # answers None: nothing stored
    with pytest.raises(InvalidSettings) as caught:
        check_settings_file(write(document), **machine)
    assert str(caught.value) == (
        "Failed in checking settings: conversationSettings.generationModel[0].setApiKey:"
        ' no API key is stored under "deepseek", send setApiKey first'
    )
    assert asked == ["deepseek"]  # setApiKey is false for the other one


def test_a_vault_that_cannot_be_opened_is_the_problem(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    machine["has_key"] = closed_vault
    path = write(document)
    with pytest.raises(InvalidSettings, match="the vault cannot be opened"):
        check_settings_file(path, **machine)
    settings, _ = load_settings_file(path)
    (warning,) = list_unmet_requirements(path, **machine)
    assert "the vault cannot be opened" in warning
    assert settings.generation_models[0].needs_key


def test_hardware_that_cannot_be_read_is_the_problem(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    with_cuda(document)
    machine["hardware"] = lost_driver
    path = write(document)
    with pytest.raises(InvalidSettings, match="the driver does not answer"):
        check_settings_file(path, **machine)
    settings, _ = load_settings_file(path)
    (warning,) = list_unmet_requirements(path, **machine)
    assert "the driver does not answer" in warning
    assert settings.performance.use_cuda


def test_the_hardware_is_asked_only_if_an_accelerator_is_wanted(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    machine["hardware"] = lost_driver
    check_settings_file(write(document), **machine)


def test_accelerators_that_work_may_be_used(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    with_cuda(document)
    with_coreml(document)
    machine["hardware"] = lambda: Hardware(has_cuda=True, has_coreml=True)
    performance = check_settings_file(write(document), **machine).performance
    assert performance.use_cuda
    assert performance.use_coreml


def test_the_cached_availability_in_the_file_is_not_believed(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    with_cuda(document)
    document["performance"] |= {"cuda available": True, "cudaAvailable": True}
    with pytest.raises(InvalidSettings, match="CUDA is not available"):
        check_settings_file(write(document), **machine)


def without_onnx(folder: Path) -> str:
    (folder / "model.onnx").unlink()
    return "it has neither model.onnx nor onnx/model.onnx"


def without_tokenizer(folder: Path) -> str:
    (folder / "tokenizer.json").unlink()
    return "has no tokenizer; it needs one of: tokenizer.json"


def with_an_empty_model(folder: Path) -> str:
    (folder / "model.onnx").write_bytes(b"")
    return "model.onnx is empty; the download or copy did not finish"


@pytest.mark.parametrize("spoil", [without_onnx, without_tokenizer, with_an_empty_model])
@pytest.mark.parametrize("name", ["bge-m3", "reranker"])
def test_a_selected_model_whose_folder_holds_none_is_refused_by_what_is_missing(
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    name: str,
    spoil: Callable[[Path], str],
) -> None:
    path = write(document)
    tmp_path = path.parent
    missing = spoil(tmp_path / name)
    with pytest.raises(InvalidSettings) as refusal:
        check_settings_file(path, **machine)
    place = "embeddingConfig" if name == "bge-m3" else "rerankConfig"
    assert f'searchSettings.{place}.configs[0].modelName: "{name}" cannot be used: ' in str(
        refusal.value
    )
    assert missing in str(refusal.value)
    assert str(tmp_path / name) in str(refusal.value)
    for kind in ("embeddingConfig", "rerankConfig"):
        for config in document["searchSettings"][kind]["configs"]:
            config["selected"] = False
    check_settings_file(write(document), **machine)  # nobody needs it
